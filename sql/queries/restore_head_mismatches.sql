-- restore_head_mismatches: number of streams whose last event does not match the stream's row.
SELECT count(*)
FROM streams s
WHERE NOT EXISTS (SELECT FROM archived a WHERE a.stream_id = s.stream_id)
    AND NOT EXISTS (
        SELECT FROM events e
        WHERE e.stream_id = s.stream_id
            AND e.seq = s.version - 1
            AND s.head = sha256('\x00'::bytea || e.line)
    )
