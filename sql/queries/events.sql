-- read_stream: version and head of a stream, and its events from a seq on, in one snapshot.
-- $1 stream, $2 first seq, $3 event limit or null. A stream without such events gives one row, line null.
SELECT s.kind, s.version, s.head, e.line
FROM streams s
LEFT JOIN events e ON e.stream_id = s.stream_id AND e.seq >= $2::integer
WHERE s.stream_id = $1::uuid
ORDER BY e.seq
LIMIT $3::bigint

-- archived_stream: the hash of the bundle of an archived stream.
-- $1 stream
SELECT bundle FROM archived WHERE stream_id = $1::uuid

-- read_secret: the encrypted seed of a running game.
-- $1 game
SELECT key_id, ciphertext FROM secrets WHERE game_id = $1::uuid

-- read_answer: the stored answer of an idempotency key.
-- $1 caller, $2 request key
SELECT body_hash, sealed FROM answers WHERE caller = $1::uuid AND request_key = $2::bytea

-- read_outbox: the oldest rows of a topic; they stay until they are dropped.
-- $1 topic, $2 row limit, $3 only those written before
SELECT stream_id, version
FROM outbox
WHERE topic = $1::text AND created_at < $3::timestamptz
ORDER BY created_at
LIMIT $2::integer

-- drop_outbox: delete rows of a topic that were passed on; returns how many.
-- $1 topic, $2 streams, $3 their versions
SELECT drop_outbox($1::text, $2::uuid[], $3::integer[])

-- purge_answers: delete answers stored before a time.
-- $1 time
SELECT purge_answers($1::timestamptz)

-- append_events: write all changes of one command; null, or the reason why nothing was written.
-- $1 the command as JSON
SELECT try_append_events($1::jsonb)

-- read_line: one event, to find out whether a commit succeeded if its answer was lost.
-- $1 stream, $2 seq
SELECT line FROM events WHERE stream_id = $1::uuid AND seq = $2::integer

-- append_game_move: write an ordinary move; null, or the reason why nothing was written.
-- $1 token hash, $2 game, $3 its version, $4 the events, $5 the new head, $6 its row as JSON,
-- $7 topic of the outbox row, $8 caller, $9 request key, $10 body hash, $11 content of the answer
SELECT append_game_move(
    $1::bytea, $2::uuid, $3::integer, $4::text, $5::bytea, $6::jsonb,
    $7::text, $8::uuid, $9::bytea, $10::bytea, $11::bytea
)

-- append_game_moves: write several ordinary moves in one transaction; a row for each, in their order.
-- $1 to $11 as of append_game_move, an array of each
SELECT append_game_move(
    m.token, m.stream, m.expected, m.lines, m.new_head, m.summary,
    m.topic, m.its_caller, m.its_key, m.its_body, m.its_content
)
FROM unnest(
    $1::bytea[], $2::uuid[], $3::integer[], $4::text[], $5::bytea[], $6::jsonb[],
    $7::text[], $8::uuid[], $9::bytea[], $10::bytea[], $11::bytea[]
) m (
    token, stream, expected, lines, new_head, summary,
    topic, its_caller, its_key, its_body, its_content
)
