-- webhooks_in_use: the number of webhooks that are not off, and of those that fail.
SELECT count(*), count(*) FILTER (WHERE w.failures > 0) FROM webhooks w WHERE w.state <> 'off'
