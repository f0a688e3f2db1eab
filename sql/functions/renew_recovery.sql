-- renew_recovery: replace the recovery code of the player with a token; returns the player or null.
--
-- Takes the token itself, for the reason in player_of_issuer.
CREATE OR REPLACE FUNCTION renew_recovery(token text, new_hash bytea) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    its_player  uuid := player_of_issuer(token);
BEGIN
    UPDATE players p SET recovery_hash = new_hash WHERE p.player_id = its_player;
    RETURN its_player;
END
$$;
