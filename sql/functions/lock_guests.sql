-- lock_guests: lock players who are seated, or blocked by another, until this commit.
--
-- A block and a seat of the same player wait for each other; the lock does not conflict with
-- hold_players.
CREATE OR REPLACE FUNCTION lock_guests(wanted uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM FROM players p
    WHERE p.player_id = ANY (wanted)
    ORDER BY p.player_id
    FOR NO KEY UPDATE;
END
$$;
