-- look_up_seal: what the end of a hand needs: its refused moves, and new events of its table.
-- $1 game, $2 table, $3 first seq of the table
SELECT
    s.kind, s.version, s.head,
    ARRAY(
        SELECT e.line FROM events e WHERE e.stream_id = $2::uuid AND e.seq >= $3::integer ORDER BY e.seq
    ) AS lines,
    ARRAY(
        SELECT ROW(r.refusal_id, r.at, r.seat, r.key_id, r.sealed, r.arrival IS NOT NULL)
        FROM refusals r
        WHERE r.game_id = $1::uuid
        ORDER BY r.at, r.arrival NULLS FIRST, r.refusal_id
    ) AS refused
FROM (SELECT) one
LEFT JOIN streams s ON s.stream_id = $2::uuid
