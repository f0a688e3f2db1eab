-- disputes_to_judge: disputes about public games that wait for referees, newest first.
--
-- Without those in which the player is a side, or has been a referee.
-- $1 player, $2 row limit
SELECT d.dispute_id
FROM disputes d
JOIN games g ON g.game_id = d.game_id
WHERE g.public
    AND d.state IN ('open', 'appealed')
    AND d.accuser <> $1::uuid
    AND d.accused IS DISTINCT FROM $1::uuid
    AND NOT EXISTS (
        SELECT FROM dispute_referees r
        WHERE r.dispute_id = d.dispute_id AND r.player_id = $1::uuid
    )
ORDER BY d.opened_at DESC, d.dispute_id DESC
LIMIT $2::bigint
