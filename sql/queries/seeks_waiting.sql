-- seeks_waiting: how many players wait for a table on which conditions, the longest wait first.
-- $1 time, $2 limit
SELECT rulesets, seats, turn_seconds, swap_seconds, entropy, count(DISTINCT player_id)
FROM seeks
WHERE ended_at IS NULL AND expires_at > $1::timestamptz
GROUP BY rulesets, seats, turn_seconds, swap_seconds, entropy
ORDER BY min(created_at), rulesets
LIMIT $2
