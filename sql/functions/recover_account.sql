-- recover_account: end all tokens of the player with a recovery code, and add one with all scopes;
-- returns the player or null.
--
-- Takes the code itself, for the reason in player_of_issuer.
CREATE OR REPLACE FUNCTION recover_account(code text, new_hash bytea) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    RETURN recover_player(sha256(convert_to(code, 'UTF8')), new_hash);
END
$$;
