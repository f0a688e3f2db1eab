-- delete_webhook: delete a webhook and what it was sent; false if the player has none.
--
-- Called by end_webhook, and where tokens end all at once: erase_player, recover_account, end_tokens.
CREATE OR REPLACE FUNCTION delete_webhook(player uuid) RETURNS boolean
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    known  boolean;
BEGIN
    DELETE FROM webhooks w WHERE w.player_id = player;
    known := FOUND;
    DELETE FROM webhook_deliveries d WHERE d.player_id = player;
    RETURN known;
END
$$;
