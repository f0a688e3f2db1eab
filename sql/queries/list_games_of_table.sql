-- list_games_of_table: a page of the games of a table, newest first.
-- $1 … $7 as in list_games, $8 table, $9 player or null,
-- $10 SHA-256 of an invite or null
-- $11 since or null, $12 until or null, $13 result or null (result_is), $14 another player or null
SELECT
    game_id, table_id, hand, ruleset_id, status, version, turn, dealer,
    created_at, ended_at, reason, shithead, places, public, back, seats
FROM game_rows g
WHERE g.table_id = $8::uuid
    AND (g.created_at, g.game_id) < ($5::timestamptz, $6::uuid)
    AND (
        $2::boolean OR g.public OR may_see_game($1::uuid, $10::bytea, g.game_id, g.table_id)
    )
    AND ($3::text IS NULL OR g.ruleset_id = $3::text)
    AND ($4::text IS NULL OR g.status = $4::text)
    AND ($9::uuid IS NULL OR EXISTS (
        SELECT FROM game_seats s WHERE s.game_id = g.game_id AND s.player_id = $9::uuid
    ))
    AND ($11::timestamptz IS NULL OR g.created_at >= $11::timestamptz)
    AND ($12::timestamptz IS NULL OR g.created_at < $12::timestamptz)
    AND (
        $13::text IS NULL OR result_is(
            g.game_id, g.status, g.reason, g.shithead, g.places, $9::uuid, $13::text
        )
    )
    AND ($14::uuid IS NULL OR EXISTS (
        SELECT FROM game_seats o WHERE o.game_id = g.game_id AND o.player_id = $14::uuid
    ))
ORDER BY g.created_at DESC, g.game_id DESC
LIMIT $7::bigint
