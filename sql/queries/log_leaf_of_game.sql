-- log_leaf_of_game: the newest leaf of a game in the public log, as of a size of its tree.
-- $1 game, $2 tree size
SELECT leaf_index, version, data
FROM log_leaves
WHERE game_id = $1::uuid AND leaf_index < $2::bigint
ORDER BY version DESC
LIMIT 1
