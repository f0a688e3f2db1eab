-- recover_account: give the player with a recovery code a new token; returns the player or null.
--
-- Takes the code itself, for the reason in renew_token.
CREATE OR REPLACE FUNCTION recover_account(code text, new_hash bytea) RETURNS uuid
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    UPDATE players p SET token_hash = new_hash
    WHERE p.recovery_hash = sha256(convert_to(code, 'UTF8'))
    RETURNING p.player_id
$$;
