-- log_entries: the data of consecutive leaves.
-- $1 first index, $2 count
SELECT data
FROM log_leaves
WHERE leaf_index >= $1::bigint AND leaf_index < $1::bigint + $2::bigint
ORDER BY leaf_index
