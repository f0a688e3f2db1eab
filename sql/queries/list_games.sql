-- list_games: a page of all games, newest first.
-- $1 viewer or null, $2 whether games that the viewer may not see are listed, $3 ruleset or null,
-- $4 status or null, $5 and $6 time and id of the last row of the previous page, $7 row limit,
-- $8 SHA-256 of an invite or null
-- $9 since or null, $10 until or null, $11 result or null (result_is), $12 another player or null
SELECT
    game_id, table_id, hand, ruleset_id, status, version, turn, dealer,
    created_at, ended_at, reason, shithead, places, public, back, seats
FROM game_rows g
WHERE (g.created_at, g.game_id) < ($5::timestamptz, $6::uuid)
    AND (
        $2::boolean OR g.public OR may_see_game($1::uuid, $8::bytea, g.game_id, g.table_id)
    )
    AND ($3::text IS NULL OR g.ruleset_id = $3::text)
    AND ($4::text IS NULL OR g.status = $4::text)
    AND ($9::timestamptz IS NULL OR g.created_at >= $9::timestamptz)
    AND ($10::timestamptz IS NULL OR g.created_at < $10::timestamptz)
    AND (
        $11::text IS NULL OR result_is(
            g.game_id, g.status, g.reason, g.shithead, g.places, NULL::uuid, $11::text
        )
    )
    AND ($12::uuid IS NULL OR EXISTS (
        SELECT FROM game_seats o WHERE o.game_id = g.game_id AND o.player_id = $12::uuid
    ))
ORDER BY g.created_at DESC, g.game_id DESC
LIMIT $7::bigint
