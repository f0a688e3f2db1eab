-- check_leaves: leaves of the public log, each with the hash in its tile and the game's event.
--
-- The event is null if it is not in the database: the game is archived, or lost.
-- $1 first index, $2 row limit
SELECT l.leaf_index, l.game_id, l.version, l.data, h.hash, e.line
FROM log_leaves l
LEFT JOIN log_hashes h ON h.level = 0 AND h.position = l.leaf_index
LEFT JOIN events e ON e.stream_id = l.game_id AND e.seq = l.version - 1
WHERE l.leaf_index >= $1::bigint
ORDER BY l.leaf_index
LIMIT $2::bigint
