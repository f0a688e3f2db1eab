-- migration_lock: one migration at a time in a database; held until the transaction ends.
SELECT pg_advisory_xact_lock(7302841165123)
