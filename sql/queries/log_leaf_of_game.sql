-- log_leaf_of_game: the newest leaf of a game in the public log when its tree had a given size.
-- $1 game, $2 tree size
SELECT leaf_index, version, data
FROM log_leaves
WHERE game_id = $1::uuid AND leaf_index < $2::bigint
ORDER BY version DESC
LIMIT 1
