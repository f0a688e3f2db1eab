-- erase_player: forget who a person was; the number stays, so that their games still add up.
--
-- Their kept answers go too: only they could have asked for them again. So do their words in
-- disputes: the streams keep commitments, which say nothing once the salt is gone.
CREATE OR REPLACE FUNCTION erase_player(player uuid, at timestamptz) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    DELETE FROM answers a WHERE a.caller = player;
    UPDATE dispute_texts t SET words = NULL, salt = NULL WHERE t.author = player;
    WITH done AS (
        UPDATE players p
        SET name = NULL, token_hash = NULL, recovery_hash = NULL, erased_at = at
        WHERE p.player_id = player AND p.erased_at IS NULL
        RETURNING 1
    )
    SELECT EXISTS (SELECT FROM done)
$$;
