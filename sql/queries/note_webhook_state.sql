-- note_webhook_state: store how the work under a claim went.
-- $1 player, $2 claim, $3 result
SELECT note_webhook_state($1::uuid, $2::integer, $3::jsonb)
