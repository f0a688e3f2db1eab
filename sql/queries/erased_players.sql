-- erased_players: players erased since a time, or all erased players; the earliest erasure first.
-- $1 time; null for all
SELECT p.player_id, p.erased_at
FROM players p
WHERE p.erased_at IS NOT NULL AND ($1::timestamptz IS NULL OR p.erased_at >= $1::timestamptz)
ORDER BY p.erased_at, p.player_id
