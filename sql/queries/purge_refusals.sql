-- purge_refusals: delete the refused moves of games that were over before a time.
-- $1 time
SELECT purge_refusals($1::timestamptz)
