-- oldest_outbox_time: the time of the oldest outbox row of a topic.
-- $1 topic
SELECT created_at FROM outbox WHERE topic = $1::text ORDER BY created_at LIMIT 1
