-- come_back: store the seats that players took back from stand-in bots, and the game's next action.
--
-- `seats` replaces the stored seats. Not an event, because the game does not change. No effect if the
-- game has moved on from version `seen`; returns whether it took effect.
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
