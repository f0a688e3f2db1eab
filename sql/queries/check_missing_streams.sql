-- check_missing_streams: games, tables and disputes that rows name by id and that have no stream.
-- $1 row limit
SELECT named.kind, named.id
FROM (
    SELECT 'game' AS kind, g.game_id AS id FROM games g
    UNION SELECT 'table', g.table_id FROM games g
    UNION SELECT 'table', t.table_id FROM tables t
    UNION SELECT 'dispute', d.dispute_id FROM disputes d
    UNION SELECT 'game', d.game_id FROM disputes d
    UNION SELECT 'dispute', b.dispute_id FROM dispute_bundles b
) named
WHERE NOT EXISTS (SELECT FROM streams s WHERE s.stream_id = named.id)
ORDER BY named.kind, named.id
LIMIT $1::bigint
