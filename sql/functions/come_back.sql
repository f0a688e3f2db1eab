-- come_back: give a seat back from the stand-in bot to its player; returns whether it took effect.
--
-- Not an event, because the game does not change. No effect if the game has moved on from version
-- `seen`. Sets the next action of the sweeper as well.
CREATE OR REPLACE FUNCTION come_back(
    game uuid, seen integer, seats jsonb, next_kind text, next_at timestamptz
) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH done AS (
        UPDATE games g SET back = seats, wake_kind = next_kind, wake_at = next_at
        WHERE g.game_id = game AND g.version = seen
        RETURNING 1
    )
    SELECT EXISTS (SELECT FROM done)
$$;
