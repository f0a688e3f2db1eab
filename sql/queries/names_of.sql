-- names_of: the names of many players at once; erased ones have none.
-- $1 players
SELECT player_id, name FROM players WHERE player_id = ANY ($1::uuid[]) AND name IS NOT NULL
