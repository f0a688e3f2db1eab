-- rename_by_token: set the name of the player with a token; returns the player or null.
--
-- Takes the token itself, for the reason in renew_token. Operators use rename_player, which the service
-- may not execute; the trail records their actions.
CREATE OR REPLACE FUNCTION rename_by_token(token text, new_name text) RETURNS uuid
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    UPDATE players p SET name = new_name
    WHERE p.token_hash = sha256(convert_to(token, 'UTF8'))
    RETURNING p.player_id
$$;
