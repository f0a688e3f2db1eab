-- check_ratings: what the stored ratings are computed from, the present numbers, and all ratings.
SELECT
    r.leaves,
    (r.erased, r.rulings) = (
        (SELECT count(*) FROM players p WHERE p.erased_at IS NOT NULL),
        (SELECT count(*) FROM disputes d WHERE d.state = 'final' AND d.verdict = 'cad')
    ) AS is_current,
    (
        SELECT coalesce(jsonb_agg(jsonb_build_array(s.ruleset_id, s.rated, s.mu, s.sigma, s.hands)), '[]')
        FROM ratings s
    ) AS stored
FROM ratings_reached r
