-- webhooks_in_use: the number of webhooks that are not off, of those that fail, and the first due time.
SELECT count(*), count(*) FILTER (WHERE w.failures > 0), min(w.due_at) FROM webhooks w WHERE w.state <> 'off'
