-- ready_tables: tables that have waited long enough to deal by themselves, the longest first.
-- $1 time: those that wait since then, $2 row limit
SELECT table_id, version, ready_since
FROM tables
WHERE ready_since <= $1::timestamptz
ORDER BY ready_since
LIMIT $2::bigint
