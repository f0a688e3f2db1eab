-- check_table_row: the summary row of a table, for the comparison with its events.
-- $1 table
SELECT
    t.version,
    to_jsonb(t),
    (
        SELECT jsonb_agg(
            jsonb_build_object(
                'seat', s.seat, 'kind', s.kind, 'bot', s.bot, 'player_id', s.player_id
            ) ORDER BY s.seat
        )
        FROM table_seats s
        WHERE s.table_id = t.table_id
    )
FROM tables t
WHERE t.table_id = $1::uuid
