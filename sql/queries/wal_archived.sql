-- wal_archived: whether an archive holds the WAL up to a position; null if there is no such archive.
--
-- pg_receivewal confirms to its replication slot what it has written to disk. archive_command stores
-- whole segments, in order.
-- $1 the replication slot, or 'archiver' for archive_command, $2 position
SELECT CASE $1::text
    WHEN 'archiver' THEN (
        SELECT pg_walfile_name($2::pg_lsn) COLLATE "C" <= left(a.last_archived_wal, 24) COLLATE "C"
        FROM pg_stat_archiver a
    )
    ELSE (
        SELECT s.restart_lsn >= $2::pg_lsn
        FROM pg_replication_slots s
        WHERE s.slot_name = $1::text
    )
END
