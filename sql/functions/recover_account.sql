-- recover_account: end all tokens of the player with a recovery code, and add one with all scopes;
-- returns the player or null.
--
-- The webhook is deleted: a stolen token may have set it. Takes the code itself, for the reason in
-- player_of_issuer.
CREATE OR REPLACE FUNCTION recover_account(code text, new_hash bytea) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    found  uuid;
BEGIN
    UPDATE players p SET recovery_hash = p.recovery_hash  -- locks the row: one recovery at a time
    WHERE p.recovery_hash = sha256(convert_to(code, 'UTF8'))
    RETURNING p.player_id INTO found;
    IF found IS NOT NULL THEN
        DELETE FROM tokens k WHERE k.player_id = found;
        PERFORM delete_webhook(found);
        PERFORM add_token(gen_random_uuid(), new_hash, found, 'recovery', NULL, now(), NULL);
    END IF;
    RETURN found;
END
$$;
