-- read_line: one event, to find out whether a commit succeeded if its answer was lost.
-- $1 stream, $2 seq
SELECT line FROM events WHERE stream_id = $1::uuid AND seq = $2::integer
