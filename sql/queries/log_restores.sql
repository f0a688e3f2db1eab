-- log_restores: the leaves of the public log that declare restores, oldest first.
-- $1 the id that stands for their game
SELECT leaf_index, version, data FROM log_leaves WHERE game_id = $1::uuid ORDER BY version
