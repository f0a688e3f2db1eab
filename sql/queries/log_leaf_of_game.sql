-- log_leaf_of_game: the last leaf of a game in a tree of a size.
-- $1 game, $2 size
SELECT leaf_index, version, data
FROM log_leaves
WHERE game_id = $1::uuid AND leaf_index < $2::bigint
ORDER BY version DESC
LIMIT 1
