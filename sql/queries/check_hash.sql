-- check_hash: one hash in a tile of the public log.
-- $1 level, $2 position
SELECT hash FROM log_hashes WHERE level = $1::integer AND position = $2::bigint
