-- set_webhook: replace the webhook of the player with a token.
-- $1 token of the request, $2 URL, $3 types, $4 origin, $5 id of the key, $6 encrypted secret, $7 time
SELECT set_webhook($1::text, $2::text, $3::text[], $4::text, $5::text, $6::bytea, $7::timestamptz)

-- end_webhook: delete the webhook of the player with a token.
-- $1 token of the request
SELECT end_webhook($1::text)

-- webhook_of: the webhook of a player, with the number of deliveries that were not accepted yet, and
-- whether its token has ended.
-- $1 player
SELECT
    w.token_id, w.url, w.types, w.origin, w.key_id, w.secret, w.state, w.fault, w.status, w.failures, w.failing_since,
    w.created_at, w.delivered_at, w.due_at, w.claim, w.tables, w.games, w.looked_at,
    (SELECT count(*) FROM webhook_deliveries d WHERE d.player_id = w.player_id AND d.sent_at IS NULL),
    NOT EXISTS (
        SELECT FROM tokens k WHERE k.token_id = w.token_id AND (k.ends_at IS NULL OR k.ends_at > now())
    )
FROM webhooks w
WHERE w.player_id = $1::uuid

-- webhook_deliveries_of: the deliveries of a webhook, the oldest first.
-- $1 player
SELECT d.type, d.id, d.mark, d.body, d.found_at, d.sent_at
FROM webhook_deliveries d
WHERE d.player_id = $1::uuid
ORDER BY d.found_at, d.type, d.id

-- webhooks_in_use: the number of webhooks that are not off, of those that fail, and the first due time.
--
-- An unproven one counts for the last only if no work of its origin has begun: else it waits for a share.
WITH served AS (
    SELECT DISTINCT w.origin FROM webhooks w WHERE w.state <> 'off' AND w.due_at = w.claimed_until
)
SELECT
    count(*), count(*) FILTER (WHERE w.failures > 0),
    min(w.due_at) FILTER (WHERE (w.state = 'on' AND w.failures = 0) OR s.origin IS NULL)
FROM webhooks w
LEFT JOIN served s ON s.origin = w.origin
WHERE w.state <> 'off'

-- wake_webhooks: let the webhooks of some players be due.
-- $1 players, $2 time
SELECT wake_webhooks($1::uuid[], $2::timestamptz)

-- claim_webhooks: claim the webhooks that are due.
-- $1 now, $2 end of the claims, $3 maximum number, $4 of an origin, $5 of its unproven ones, $6 of all
-- unproven ones
SELECT player_id, claim
FROM claim_webhooks($1::timestamptz, $2::timestamptz, $3::integer, $4::integer, $5::integer, $6::integer)

-- begin_webhook: begin the work under a claim; its number rises by one.
-- $1 player, $2 claim, $3 now, $4 end of the claim
SELECT begin_webhook($1::uuid, $2::integer, $3::timestamptz, $4::timestamptz)

-- note_webhook_look: store the new deliveries of a webhook.
-- $1 player, $2 claim, $3 time, $4 open tables, $5 running games, $6 added, $7 gone
SELECT note_webhook_look(
    $1::uuid, $2::integer, $3::timestamptz, $4::uuid[], $5::uuid[], $6::jsonb, $7::jsonb
)

-- note_webhook_sent: store that the receiver accepted a delivery.
-- $1 player, $2 claim, $3 type, $4 id, $5 mark, $6 time
SELECT note_webhook_sent($1::uuid, $2::integer, $3::text, $4::uuid, $5::integer, $6::timestamptz)

-- note_webhook_state: store how the work under a claim went.
-- $1 player, $2 claim, $3 result
SELECT note_webhook_state($1::uuid, $2::integer, $3::jsonb)
