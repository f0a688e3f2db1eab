-- results_of: how many hands a player finished and lost, at all tables and at public ones.
-- $1 player
SELECT r.games, r.shithead, r.public_games, r.public_shithead
FROM player_results r
WHERE r.player_id = $1::uuid
