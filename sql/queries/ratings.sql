-- ratings_reached: what the stored ratings are computed from, and the present numbers.
SELECT
    r.leaves,
    r.erased,
    r.rulings,
    r.erased_now,
    (SELECT count(*) FROM disputes d WHERE d.state = 'final' AND d.verdict = 'cad') AS rulings_now
FROM ratings_reached r

-- ratings_among: the ratings of some players and bots in some rulesets.
-- $1 rulesets, $2 who; pairs of one place belong together
SELECT r.ruleset_id, r.rated, r.mu, r.sigma, r.hands
FROM ratings r
JOIN unnest($1::text[], $2::text[]) w (ruleset_id, rated)
    ON w.ruleset_id = r.ruleset_id AND w.rated = r.rated

-- keep_ratings: store changed ratings.
-- $1 leaves counted before, $2 leaves counted now, $3 erased players, $4 final rulings, $5 ratings,
-- $6 whether they replace all others
SELECT keep_ratings($1::bigint, $2::bigint, $3::bigint, $4::bigint, $5::jsonb, $6::boolean)

-- list_ratings: the ratings of a ruleset, the best first.
-- $1 ruleset, $2 number of ratings to pass over, $3 row limit
SELECT r.rated, r.player_id, p.name, r.mu, r.sigma, r.hands
FROM ratings r
LEFT JOIN players p ON p.player_id = r.player_id
WHERE r.ruleset_id = $1::text
ORDER BY r.mu - 3 * r.sigma DESC, r.rated
OFFSET $2::bigint
LIMIT $3::bigint

-- ratings_of_player: the ratings of a player in all rulesets.
-- $1 player
SELECT r.ruleset_id, r.mu, r.sigma, r.hands
FROM ratings r
WHERE r.player_id = $1::uuid
ORDER BY r.ruleset_id
