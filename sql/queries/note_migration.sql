-- note_migration: a migration has been applied.
-- $1 name, $2 checksum
INSERT INTO applied_migrations (name, checksum) VALUES ($1::text, $2::bytea)
