-- erased_players: players erased since a time, oldest first; all of them for null.
-- $1 time or null
SELECT p.player_id, p.erased_at
FROM players p
WHERE p.erased_at IS NOT NULL AND ($1::timestamptz IS NULL OR p.erased_at >= $1::timestamptz)
ORDER BY p.erased_at, p.player_id
