-- append_events: write all changes of one command; null, or the reason why nothing was written.
-- $1 the command as JSON
SELECT try_append_events($1::jsonb)
