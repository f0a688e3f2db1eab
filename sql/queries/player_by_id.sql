-- player_by_id: a player, erased or not.
-- $1 player
SELECT player_id, name, created_at, erased_at FROM players WHERE player_id = $1::uuid
