-- sign_log_head: store a signed checkpoint.
-- $1 size, $2 note
SELECT sign_log_head($1::bigint, $2::bytea)
