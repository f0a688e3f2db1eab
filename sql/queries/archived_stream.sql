-- archived_stream: the hash of the bundle of an archived stream.
-- $1 stream
SELECT bundle FROM archived WHERE stream_id = $1::uuid
