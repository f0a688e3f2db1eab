-- open_seeks: the open seeks, oldest first; with an id only those that may be seated with that seek.
-- $1 time, $2 seek or null, $3 limit
SELECT
    s.seek_id, s.player_id, s.rulesets, s.seats, s.turn_seconds, s.swap_seconds, s.entropy, s.key, s.fill_after,
    s.created_at, s.expires_at, s.ended_at, s.table_id
FROM seeks s
LEFT JOIN seeks w ON w.seek_id = $2::uuid
WHERE s.ended_at IS NULL
    AND s.expires_at > $1::timestamptz
    AND ($2::uuid IS NULL OR (
        s.seats = w.seats
        AND s.turn_seconds IS NOT DISTINCT FROM w.turn_seconds
        AND s.swap_seconds IS NOT DISTINCT FROM w.swap_seconds
        AND s.entropy = w.entropy
        AND s.rulesets && w.rulesets
    ))
ORDER BY s.created_at, s.seek_id
LIMIT $3
