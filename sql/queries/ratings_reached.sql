-- ratings_reached: what the stored ratings are computed from, and the present numbers.
SELECT
    r.leaves,
    r.erased,
    r.rulings,
    (SELECT count(*) FROM players p WHERE p.erased_at IS NOT NULL) AS erased_now,
    (SELECT count(*) FROM disputes d WHERE d.state = 'final' AND d.verdict = 'cad') AS rulings_now
FROM ratings_reached r
