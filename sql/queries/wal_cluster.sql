-- wal_cluster: the system identifier of the database, to which positions of its WAL belong.
SELECT system_identifier::text FROM pg_control_system()
