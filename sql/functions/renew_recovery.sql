-- renew_recovery: replace the recovery code of the player with a token; null if the token is not valid.
--
-- Needs the present code, or without one a full token: a code outlasts the token that asked for it. False,
-- and nothing changes, without either. Takes token and code themselves, for the reason in player_of_issuer.
CREATE OR REPLACE FUNCTION renew_recovery(token text, code text, new_hash bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    its_player  uuid := player_of_issuer(token);
BEGIN
    IF its_player IS NULL THEN
        RETURN NULL;
    END IF;
    UPDATE players p SET recovery_hash = new_hash
    WHERE p.player_id = its_player AND CASE
        WHEN code IS NULL THEN is_full_token(token)
        ELSE p.recovery_hash = sha256(convert_to(code, 'UTF8'))
    END;
    RETURN FOUND;
END
$$;
