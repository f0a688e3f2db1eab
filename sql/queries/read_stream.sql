-- read_stream: version and head of a stream, and its events from a seq on, in one snapshot.
-- $1 stream, $2 first seq, $3 event limit or null. A stream without such events gives one row, line null.
SELECT s.kind, s.version, s.head, e.line
FROM streams s
LEFT JOIN events e ON e.stream_id = s.stream_id AND e.seq >= $2::integer
WHERE s.stream_id = $1::uuid
ORDER BY e.seq
LIMIT $3::bigint
