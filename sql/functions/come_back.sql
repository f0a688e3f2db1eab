-- come_back: a player takes the seat back from the bot that stood in; returns whether it held.
--
-- Not an event, since nothing happened in the game; void where the game has moved on from
-- `seen`. What the sweeper does next changes with it.
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
