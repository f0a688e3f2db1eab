-- check_streams: streams in order of id, with the version in their summary row.
-- $1 after this id, $2 row limit
SELECT s.stream_id, s.kind, s.version, coalesce(g.version, t.version, d.version)
FROM streams s
LEFT JOIN games g ON g.game_id = s.stream_id
LEFT JOIN tables t ON t.table_id = s.stream_id
LEFT JOIN disputes d ON d.dispute_id = s.stream_id
WHERE s.stream_id > $1::uuid
ORDER BY s.stream_id
LIMIT $2::bigint
