-- put_off: set the next action and time of a game whose due action had no effect.
--
-- This happens at a first-come opening if no bot may open. Not an event, because the game does not
-- change. No effect if the game has moved on from version `seen`. Returns whether it took effect.
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
