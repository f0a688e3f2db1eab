-- own_disputes: the running disputes of a player, as a side or as a referee, newest first.
-- $1 player, $2 row limit
SELECT d.dispute_id
FROM disputes d
WHERE d.state <> 'final' AND (
    d.accuser = $1::uuid
    OR d.accused = $1::uuid
    OR d.dispute_id IN (
        SELECT r.dispute_id FROM dispute_referees r
        WHERE r.player_id = $1::uuid AND NOT r.recused
    )
)
ORDER BY d.opened_at DESC, d.dispute_id DESC
LIMIT $2::bigint
