-- archive_stream: record a finished game as archived, and delete its events; returns how many.
-- $1 stream, $2 hash of its bundle
SELECT archive_stream($1::uuid, $2::bytea)
