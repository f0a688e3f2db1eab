-- look_up_seal: data for the end of a hand: its refused moves, and new events of its table.
-- The refused moves are arrays, one for each column; null if there are none.
-- $1 game, $2 table, $3 first seq of the table
SELECT
    s.kind, s.version, s.head,
    ARRAY(
        SELECT e.line FROM events e WHERE e.stream_id = $2::uuid AND e.seq >= $3::integer ORDER BY e.seq
    ) AS lines,
    r.ids, r.times, r.seats, r.keys, r.sealed, r.arrived
FROM (
    SELECT
        array_agg(o.refusal_id) AS ids,
        array_agg(o.at) AS times,
        array_agg(o.seat) AS seats,
        array_agg(o.key_id) AS keys,
        array_agg(o.sealed) AS sealed,
        array_agg(o.arrived) AS arrived
    FROM (
        SELECT f.refusal_id, f.at, f.seat, f.key_id, f.sealed, f.arrival IS NOT NULL AS arrived
        FROM refusals f
        WHERE f.game_id = $1::uuid
        ORDER BY f.at, f.arrival NULLS FIRST, f.refusal_id
    ) o
) r
LEFT JOIN streams s ON s.stream_id = $2::uuid
