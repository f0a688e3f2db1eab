-- record_attempt: store a refused move of a running game, encrypted by the caller.
--
-- Returns false, and stores nothing, if the game is over or unknown. Locks the row of the stream: the
-- append that seals the game comes either before, and this returns false, or after, and counts this
-- attempt (see check_refusals). Only the first 200 attempts of a seat are stored; for later ones it
-- also returns true.
CREATE OR REPLACE FUNCTION record_attempt(
    game uuid, attempt uuid, refused_at timestamptz, its_seat integer, key text, ciphertext bytea
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM FROM streams s WHERE s.stream_id = game FOR NO KEY UPDATE;

    -- A separate statement, because it must see what was committed while the lock was awaited.
    IF NOT EXISTS (SELECT FROM games g WHERE g.game_id = game AND g.ended_at IS NULL) THEN
        RETURN false;
    END IF;

    INSERT INTO refusals (game_id, refusal_id, at, seat, key_id, sealed, arrival)
    SELECT game, attempt, refused_at, its_seat, key, ciphertext, count(*) + 1
    FROM refusals r
    WHERE r.game_id = game
    HAVING count(*) FILTER (WHERE r.seat = its_seat) < 200;
    RETURN true;
END
$$;
