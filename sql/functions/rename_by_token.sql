-- rename_by_token: set the name of the player with a token; returns the player or null.
--
-- Takes the token itself, for the reason in player_of_issuer. Operators use rename_player, which the service
-- may not execute; the trail records their actions.
CREATE OR REPLACE FUNCTION rename_by_token(token text, new_name text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    its_player  uuid := player_of_issuer(token);
BEGIN
    UPDATE players p SET name = new_name WHERE p.player_id = its_player;
    RETURN its_player;
END
$$;
