-- erase_by_token: erase_player for the player with a token; returns the player or null.
--
-- Takes the token itself, for the reason in renew_token.
CREATE OR REPLACE FUNCTION erase_by_token(token text, at timestamptz) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    player  uuid := (
        SELECT p.player_id FROM players p WHERE p.token_hash = sha256(convert_to(token, 'UTF8'))
    );
BEGIN
    IF player IS NULL OR NOT erase_player(player, at) THEN
        RETURN NULL;
    END IF;
    RETURN player;
END
$$;
