-- ratings_among: the ratings of some players and bots in some rulesets.
-- $1 rulesets, $2 who; pairs of one place belong together
SELECT r.ruleset_id, r.rated, r.mu, r.sigma, r.hands
FROM ratings r
JOIN unnest($1::text[], $2::text[]) w (ruleset_id, rated)
    ON w.ruleset_id = r.ruleset_id AND w.rated = r.rated
