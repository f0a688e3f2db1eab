-- check_missing_streams: games, tables and disputes that rows name by id and that have no stream.
-- Without a subquery for each row, which the shards of Citus refuse.
-- $1 row limit
WITH named AS (
    SELECT 'game' AS kind, g.game_id AS id FROM games g
    UNION SELECT 'table', g.table_id FROM games g
    UNION SELECT 'table', t.table_id FROM tables t
    UNION SELECT 'dispute', d.dispute_id FROM disputes d
    UNION SELECT 'game', d.game_id FROM disputes d
    UNION SELECT 'dispute', b.dispute_id FROM dispute_bundles b
), missing AS (
    SELECT n.id FROM named n EXCEPT SELECT s.stream_id FROM streams s
)
SELECT n.kind, n.id
FROM named n
JOIN missing m ON m.id = n.id
ORDER BY n.kind, n.id
LIMIT $1::bigint
