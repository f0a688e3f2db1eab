-- archive_stream: take a sealed game out of the database.
-- $1 stream, $2 hash of its bundle
SELECT archive_stream($1::uuid, $2::bytea)
