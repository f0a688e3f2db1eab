-- renew_token: replace a bearer token; returns its player, or null if it is unknown or has expired.
--
-- Takes the token itself and hashes it here: a connection of the service reads hashes only, so with
-- such a connection alone nobody takes over an account. The same holds for the four functions beside
-- it: recover_account, renew_recovery, rename_by_token and erase_by_token.
CREATE OR REPLACE FUNCTION renew_token(old_token text, new_hash bytea) RETURNS uuid
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    UPDATE players p SET token_hash = new_hash
    WHERE p.token_hash = sha256(convert_to(old_token, 'UTF8'))
    RETURNING p.player_id
$$;
