-- tables_of: open tables at which a player sits or that the player hosts, newest first.
-- $1 player
SELECT t.table_id
FROM tables t
WHERE t.status <> 'closed' AND (
    t.host = $1::uuid
    OR t.table_id IN (SELECT s.table_id FROM table_seats s WHERE s.player_id = $1::uuid)
)
ORDER BY t.created_at DESC, t.table_id DESC
