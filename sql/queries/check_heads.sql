-- check_heads: heads of the public log.
-- $1 larger than this, $2 not larger than this
SELECT size, root, note
FROM log_heads
WHERE size > $1::bigint AND size <= $2::bigint
ORDER BY size
