-- webhook_deliveries_of: the deliveries of a webhook, the oldest first.
-- $1 player
SELECT d.type, d.id, d.mark, d.body, d.found_at, d.sent_at
FROM webhook_deliveries d
WHERE d.player_id = $1::uuid
ORDER BY d.found_at, d.type, d.id
