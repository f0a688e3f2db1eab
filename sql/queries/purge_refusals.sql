-- purge_refusals: delete a batch of refused moves of games that were over before a time; returns
-- how many, 0 at the end.
-- $1 time
SELECT purge_refusals($1::timestamptz)
