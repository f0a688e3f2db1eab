-- check_dispute_row: the summary row of a dispute, for the comparison with its events.
-- $1 dispute
SELECT
    d.version,
    to_jsonb(d),
    (
        SELECT jsonb_agg(
            jsonb_build_object(
                'referee', r.referee, 'player_id', r.player_id, 'recused', r.recused
            ) ORDER BY r.referee
        )
        FROM dispute_referees r
        WHERE r.dispute_id = d.dispute_id
    )
FROM disputes d
WHERE d.dispute_id = $1::uuid
