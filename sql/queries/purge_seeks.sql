-- purge_seeks: delete a batch of seeks that ended or expired before a time; returns how many, 0 at the end.
-- $1 time
SELECT purge_seeks($1::timestamptz)
