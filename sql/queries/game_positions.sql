-- game_positions: the versions of those of some games that a player has a seat in or hosts.
-- $1 player, $2 games
SELECT g.game_id, g.table_id, g.version, g.ended_at IS NOT NULL AS is_over
FROM games g
WHERE g.game_id = ANY ($2::uuid[]) AND (
    EXISTS (SELECT FROM game_seats s WHERE s.game_id = g.game_id AND s.player_id = $1::uuid)
    OR EXISTS (SELECT FROM tables t WHERE t.table_id = g.table_id AND t.host = $1::uuid)
)
