-- webhook_of: the webhook of a player, with the number of deliveries that were not accepted yet.
-- $1 player
SELECT
    w.url, w.types, w.key_id, w.secret, w.state, w.fault, w.status, w.failures, w.failing_since,
    w.created_at, w.delivered_at, w.due_at, w.claim, w.tables, w.games,
    (SELECT count(*) FROM webhook_deliveries d WHERE d.player_id = w.player_id AND d.sent_at IS NULL)
FROM webhooks w
WHERE w.player_id = $1::uuid
