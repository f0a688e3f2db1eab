-- renew_recovery: replace the recovery code of the player with a token; returns the player or null.
--
-- Takes the token itself, for the reason in renew_token.
CREATE OR REPLACE FUNCTION renew_recovery(token text, new_hash bytea) RETURNS uuid
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    UPDATE players p SET recovery_hash = new_hash
    WHERE p.token_hash = sha256(convert_to(token, 'UTF8'))
    RETURNING p.player_id
$$;
