-- end_tokens: end all tokens and the webhook of a player, for the operator; false for an unknown or erased player.
--
-- With the recovery code the player gets a new token.
CREATE OR REPLACE FUNCTION end_tokens(player uuid) RETURNS boolean
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    DELETE FROM tokens k WHERE k.player_id = player;
    PERFORM delete_webhook(player);
    RETURN EXISTS (SELECT FROM players p WHERE p.player_id = player AND p.erased_at IS NULL);
END
$$;
