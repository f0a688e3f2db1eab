-- note_webhook_sent: store that the receiver accepted a delivery.
-- $1 player, $2 claim, $3 type, $4 id, $5 mark, $6 time
SELECT note_webhook_sent($1::uuid, $2::integer, $3::text, $4::uuid, $5::integer, $6::timestamptz)
