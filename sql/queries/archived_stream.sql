-- archived_stream: the hash of the bundle that an archived stream is in.
-- $1 stream
SELECT bundle FROM archived WHERE stream_id = $1::uuid
