-- outbox_waiting: the streams with the oldest outbox rows of a topic; the rows stay.
-- $1 topic, $2 row limit
SELECT stream_id FROM outbox WHERE topic = $1::text ORDER BY created_at LIMIT $2::bigint
