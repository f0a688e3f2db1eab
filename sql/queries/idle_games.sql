-- idle_games: running games with a person in a seat and an old last event, oldest game first.
--
-- Games created after $2 are skipped without reading their events. Games with a deadline in the
-- future are skipped too: the sweeper acts on them.
-- $1 now, $2 latest time of the last event, $3 and $4 time and id of the last row of the previous
-- page, $5 row limit
SELECT g.game_id, g.version, g.created_at
FROM games g
JOIN events e ON e.stream_id = g.game_id AND e.seq = g.version - 1
WHERE g.status IN ('shuffling', 'swapping', 'playing')
    AND g.created_at <= $2::timestamptz
    AND (g.created_at, g.game_id) > ($3::timestamptz, $4::uuid)
    AND coalesce(g.wake_at <= $1::timestamptz, true)
    AND (convert_from(e.line, 'UTF8')::jsonb ->> 'at')::timestamptz <= $2::timestamptz
    AND EXISTS (SELECT FROM game_seats s WHERE s.game_id = g.game_id AND s.kind = 'human')
ORDER BY g.created_at, g.game_id
LIMIT $5::bigint
