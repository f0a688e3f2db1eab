-- outbox_waiting: the oldest streams of which something is to be told; the rows stay.
-- $1 topic, $2 most rows
SELECT stream_id FROM outbox WHERE topic = $1::text ORDER BY created_at LIMIT $2::bigint
