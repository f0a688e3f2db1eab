-- wal_replayed: whether a replica has replayed a position of the primary; null if it is no replica.
-- $1 position
SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() >= $1::pg_lsn END
