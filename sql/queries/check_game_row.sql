-- check_game_row: the summary row of a game, for the comparison with its events.
-- $1 game
SELECT
    g.version,
    to_jsonb(g),
    (
        SELECT jsonb_agg(
            jsonb_build_object('seat', s.seat, 'kind', s.kind, 'bot', s.bot) ORDER BY s.seat
        )
        FROM game_seats s
        WHERE s.game_id = g.game_id
    )
FROM games g
WHERE g.game_id = $1::uuid
