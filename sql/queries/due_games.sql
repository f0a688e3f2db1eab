-- due_games: games with a due action, the longest overdue first.
-- $1 now, $2 row limit
SELECT game_id, version, wake_kind, wake_at, wake_seat
FROM games
WHERE wake_at <= $1::timestamptz
ORDER BY wake_at
LIMIT $2::bigint
