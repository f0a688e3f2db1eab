-- due_disputes: disputes in which a period has ended, or whose findings are missing or out of date.
--
-- Findings are out of date if they were made before the game ended.
-- $1 now, $2 time: disputes opened by then should have findings, $3 row limit
SELECT d.dispute_id
FROM disputes d
JOIN games g ON g.game_id = d.game_id
WHERE d.state <> 'final' AND (
    d.wake_at <= $1::timestamptz
    OR (d.found_at = 0 AND d.opened_at <= $2::timestamptz)
    OR (d.found_at > 0 AND d.found_at < g.version AND g.ended_at IS NOT NULL)
)
ORDER BY d.opened_at
LIMIT $3::bigint
