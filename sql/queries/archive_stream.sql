-- archive_stream: delete the events of a sealed game that was archived.
-- $1 stream, $2 hash of its bundle
SELECT archive_stream($1::uuid, $2::bytea)
