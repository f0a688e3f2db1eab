-- list_trail: the operator log, newest first.
-- $1 row limit or null
SELECT at, operator, act, target, outcome FROM trail ORDER BY at DESC, entry_id DESC LIMIT $1::bigint
