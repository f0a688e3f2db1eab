-- note_migration: record that a migration was applied.
-- $1 name, $2 checksum
INSERT INTO applied_migrations (name, checksum) VALUES ($1::text, $2::bytea)
