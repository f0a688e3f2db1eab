-- names_of: the names of players; erased ones are left out.
-- $1 players
SELECT player_id, name FROM players WHERE player_id = ANY ($1::uuid[]) AND name IS NOT NULL
