-- log_hashes: consecutive hashes of a tile, concatenated; as many as there are.
-- $1 level, $2 first position, $3 count
SELECT coalesce(string_agg(hash, '' ORDER BY position), '')
FROM log_hashes
WHERE level = $1::integer AND position >= $2::bigint AND position < $2::bigint + $3::bigint
