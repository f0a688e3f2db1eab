-- purge_refusals: forget the refused moves of games that were over before a time; returns how many.
--
-- Nothing was refused after the end of its game, so the age of a row tells where to look.
CREATE OR REPLACE FUNCTION purge_refusals(before timestamptz) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH gone AS (
        DELETE FROM refusals r
        USING games g
        WHERE r.at < before AND g.game_id = r.game_id AND g.ended_at < before
        RETURNING 1
    )
    SELECT count(*) FROM gone
$$;
