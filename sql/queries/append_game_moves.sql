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
