-- stop_webhook: switch off the webhook of a player that belongs to a token, which ends.
--
-- Called by end_token and issue_token. A token that ends by its time has no such moment: webhook_of states
-- that it has ended, and the next claim switches the webhook off.
CREATE OR REPLACE FUNCTION stop_webhook(player uuid, token uuid) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    UPDATE webhooks w
    SET state = 'off', fault = 'token', status = NULL, claim = w.claim + 1, claimed_until = NULL
    WHERE w.player_id = player AND w.token_id = token;
    IF FOUND THEN
        DELETE FROM webhook_deliveries d WHERE d.player_id = player;
    END IF;
END
$$;
