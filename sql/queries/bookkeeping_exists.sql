-- bookkeeping_exists: whether this database has ever been migrated.
SELECT to_regclass('public.applied_migrations') IS NOT NULL
