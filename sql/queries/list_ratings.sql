-- list_ratings: the ratings of a ruleset, the best first.
-- $1 ruleset, $2 number of ratings to pass over, $3 row limit
SELECT r.rated, r.player_id, p.name, r.mu, r.sigma, r.hands
FROM ratings r
LEFT JOIN players p ON p.player_id = r.player_id
WHERE r.ruleset_id = $1::text
ORDER BY r.mu - 3 * r.sigma DESC, r.rated
OFFSET $2::bigint
LIMIT $3::bigint
