-- purge_answers: forget the answers given before a time.
-- $1 time
SELECT purge_answers($1::timestamptz)
