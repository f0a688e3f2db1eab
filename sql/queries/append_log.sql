-- append_log: add a batch to the public log.
-- $1 the batch
SELECT append_log($1::jsonb)
