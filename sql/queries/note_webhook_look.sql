-- note_webhook_look: store the new deliveries of a webhook.
-- $1 player, $2 claim, $3 open tables, $4 running games, $5 added, $6 gone
SELECT note_webhook_look($1::uuid, $2::integer, $3::uuid[], $4::uuid[], $5::jsonb, $6::jsonb)
