-- end_tokens: end all tokens and the webhook of a player, for the operator; false for an unknown or erased player.
--
-- With the recovery code the player gets a new token.
CREATE OR REPLACE FUNCTION end_tokens(player uuid) RETURNS boolean
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    DELETE FROM tokens k WHERE k.player_id = player;
    PERFORM delete_webhook(player);
    UPDATE players p
    SET token_hash = sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
    WHERE p.player_id = player AND p.erased_at IS NULL;
    RETURN FOUND;
END
$$;
