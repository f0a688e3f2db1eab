-- seeks_of: the seeks of a player, or those that led to a table, newest first.
-- $1 player, $2 whether only those that led to a table, $3 limit
SELECT
    seek_id, player_id, rulesets, seats, turn_seconds, swap_seconds, entropy, key, fill_after,
    created_at, expires_at, ended_at, table_id
FROM seeks
WHERE player_id = $1::uuid AND (table_id IS NOT NULL OR NOT $2::boolean)
ORDER BY created_at DESC, seek_id DESC
LIMIT $3
