-- idle_games: running games with a person in them whose last event is old; the oldest first.
--
-- Only games created that long ago are read. A row with a time to come has a deadline and is left
-- to the sweeper.
-- $1 now, $2 how old the last event is at least, $3 and $4 time and id of the last one seen,
-- $5 most rows
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
