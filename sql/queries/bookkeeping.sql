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
