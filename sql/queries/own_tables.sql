-- own_tables: the open tables of a player, newest first, and further tables by their ids.
-- $1 player, $2 ids of further tables
SELECT o.table_id, o.version, o.status, o.game_id, o.own
FROM (
    SELECT
        t.table_id, t.version, t.status, t.game_id, t.created_at,
        t.host = $1::uuid OR EXISTS (
            SELECT FROM table_seats s WHERE s.table_id = t.table_id AND s.player_id = $1::uuid
        ) AS own
    FROM tables t
    WHERE t.table_id = ANY ($2::uuid[]) OR (
        t.status <> 'closed' AND (
            t.host = $1::uuid
            OR t.table_id IN (SELECT s.table_id FROM table_seats s WHERE s.player_id = $1::uuid)
        )
    )
) o
ORDER BY o.created_at DESC, o.table_id DESC
