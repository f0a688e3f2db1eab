-- claim_outbox: delete and return rows of the outbox.
-- $1 topic, $2 row limit, $3 only those written before
SELECT stream_id, version FROM claim_outbox($1::text, $2::integer, $3::timestamptz)
