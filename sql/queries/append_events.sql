-- append_events: do all that one command changes.
-- $1 the command as JSON
SELECT append_events($1::jsonb)
