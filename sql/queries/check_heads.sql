-- check_heads: heads of the public log.
-- $1 the tree size must be greater than this, $2 and at most this
SELECT size, root, note
FROM log_heads
WHERE size > $1::bigint AND size <= $2::bigint
ORDER BY size
