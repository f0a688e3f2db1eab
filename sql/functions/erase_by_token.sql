-- erase_by_token: erase_player for the player with a token; null if the token is not valid.
--
-- Needs a full token, because an erasure outlasts it: false otherwise, and nothing changes. Takes the token
-- itself, for the reason in player_of_issuer.
CREATE OR REPLACE FUNCTION erase_by_token(token text, at timestamptz) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    player  uuid := player_of_issuer(token);
BEGIN
    IF player IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN is_full_token(token) AND erase_player(player, at);
END
$$;
