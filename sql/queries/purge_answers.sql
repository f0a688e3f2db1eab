-- purge_answers: delete answers stored before a time.
-- $1 time
SELECT purge_answers($1::timestamptz)
