-- result_is: whether a game ended as a filter of lists asks.
--
-- `wanted` is `aborted`, the reason of the end, or `lost` and `first` of `player`: the shithead, and
-- the first to go out. Lists call it only with such a filter.
CREATE OR REPLACE FUNCTION result_is(
    game uuid, status text, reason text, shithead integer, places jsonb, player uuid, wanted text
) RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_temp
AS $$
    SELECT CASE
        WHEN wanted = 'aborted' THEN status = 'aborted'
        WHEN status <> 'ended' THEN false
        WHEN wanted IN ('lost', 'first') THEN EXISTS (
            SELECT FROM game_seats s
            WHERE s.game_id = game AND s.player_id = player AND s.seat = CASE wanted
                WHEN 'lost' THEN shithead
                ELSE (places ->> 0)::integer
            END
        )
        ELSE reason = wanted
    END
$$;
