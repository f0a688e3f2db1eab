-- wal_position: the position up to which the WAL of a primary is flushed; null on a replica.
-- With synchronous_commit, every transaction that is visible to others is flushed.
SELECT CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_flush_lsn()::text END

-- wal_replayed: whether a replica has replayed a position of the primary; null if it is no replica.
-- $1 position
SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() >= $1::pg_lsn END
