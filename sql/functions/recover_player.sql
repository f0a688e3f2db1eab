-- recover_player: end all tokens of the player with the hash of a recovery code, and add one.
--
-- The webhook is deleted: a stolen token may have set it.
--
-- Only for processes of earlier releases: remove after 2027-05-31.
CREATE OR REPLACE FUNCTION recover_player(recovery bytea, token bytea) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    found  uuid;
BEGIN
    UPDATE players p SET token_hash = token
    WHERE p.recovery_hash = recovery
    RETURNING p.player_id INTO found;
    IF found IS NOT NULL THEN
        DELETE FROM tokens k WHERE k.player_id = found;
        PERFORM delete_webhook(found);
        PERFORM add_token(gen_random_uuid(), token, found, 'recovery', NULL, now(), NULL);
    END IF;
    RETURN found;
END
$$;
