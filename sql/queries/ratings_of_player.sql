-- ratings_of_player: the ratings of a player in all rulesets.
-- $1 player
SELECT r.ruleset_id, r.mu, r.sigma, r.hands
FROM ratings r
WHERE r.player_id = $1::uuid
ORDER BY r.ruleset_id
