-- put_off: what was due in a game came to nothing; set what it waits for next.
--
-- So at a first-come opening: every bot has tried, and none may open. Not an event, for nothing
-- happened; void where the game has moved on from `seen`. Returns whether it held.
CREATE OR REPLACE FUNCTION put_off(
    game uuid, seen integer, next_kind text, next_at timestamptz
) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH done AS (
        UPDATE games g SET wake_kind = next_kind, wake_at = next_at
        WHERE g.game_id = game AND g.version = seen
        RETURNING 1
    )
    SELECT EXISTS (SELECT FROM done)
$$;
