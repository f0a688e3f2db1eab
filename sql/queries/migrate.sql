-- migration_lock: one migration at a time in a database; held until the transaction ends.
SELECT pg_advisory_xact_lock(7302841165123)

-- forget_file: delete the record of a file whose function was dropped.
-- $1 name
DELETE FROM applied_files WHERE name = $1::text

-- applied_migrations: the migrations applied, in order.
SELECT name, checksum FROM applied_migrations ORDER BY name

-- applied_files: the files of functions and privileges, with the checksums last applied.
SELECT name, checksum FROM applied_files

-- bookkeeping: the table of applied migrations and files, created by the first migration.
CREATE TABLE IF NOT EXISTS applied_migrations (
    name        text         NOT NULL,  -- of the file, without its extension
    checksum    bytea        NOT NULL,  -- SHA-256 of the file
    applied_at  timestamptz  NOT NULL DEFAULT now(),
    CONSTRAINT applied_migrations_pkey PRIMARY KEY (name)
);

CREATE TABLE IF NOT EXISTS applied_files (
    name        text         NOT NULL,  -- of a file that is applied again when it changes
    checksum    bytea        NOT NULL,  -- SHA-256 of the file
    applied_at  timestamptz  NOT NULL DEFAULT now(),
    CONSTRAINT applied_files_pkey PRIMARY KEY (name)
);

-- note_migration: record that a migration was applied.
-- $1 name, $2 checksum
INSERT INTO applied_migrations (name, checksum) VALUES ($1::text, $2::bytea)

-- bookkeeping_exists: whether this database has ever been migrated.
SELECT to_regclass('public.applied_migrations') IS NOT NULL

-- note_file: record that a file was applied, for the first time or again.
-- $1 name, $2 checksum
INSERT INTO applied_files (name, checksum) VALUES ($1::text, $2::bytea)
ON CONFLICT ON CONSTRAINT applied_files_pkey
DO UPDATE SET checksum = excluded.checksum, applied_at = now()
