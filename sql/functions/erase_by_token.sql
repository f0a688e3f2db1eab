-- erase_by_token: erase_player for the player with a token; returns the player or null.
--
-- Takes the token itself, for the reason in player_of_issuer.
CREATE OR REPLACE FUNCTION erase_by_token(token text, at timestamptz) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    player  uuid := player_of_issuer(token);
BEGIN
    IF player IS NULL OR NOT erase_player(player, at) THEN
        RETURN NULL;
    END IF;
    RETURN player;
END
$$;
