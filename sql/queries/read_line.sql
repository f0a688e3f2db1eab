-- read_line: one event; tells whether a commit whose answer was lost took place.
-- $1 stream, $2 seq
SELECT line FROM events WHERE stream_id = $1::uuid AND seq = $2::integer
