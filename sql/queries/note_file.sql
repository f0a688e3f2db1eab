-- note_file: record that a file was applied, for the first time or again.
-- $1 name, $2 checksum
INSERT INTO applied_files (name, checksum) VALUES ($1::text, $2::bytea)
ON CONFLICT ON CONSTRAINT applied_files_pkey
DO UPDATE SET checksum = excluded.checksum, applied_at = now()
