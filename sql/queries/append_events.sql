-- append_events: do all that one command changes; null, or why nothing was done.
-- $1 the command as JSON
SELECT try_append_events($1::jsonb)
