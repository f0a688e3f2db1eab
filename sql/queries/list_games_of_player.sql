-- list_games_of_player: a page of the games of a player, newest first.
-- $1 … $7 as in list_games, $8 player, $9 SHA-256 of an invite or null
-- $10 since or null, $11 until or null, $12 result or null (result_is), $13 another player or null,
-- $14 whether only games that are over are listed
SELECT
    g.game_id, table_id, hand, ruleset_id, status, version, turn, dealer,
    created_at, ended_at, reason, shithead, places, public, back, seats
FROM game_seats own
JOIN game_rows g ON g.game_id = own.game_id
WHERE own.player_id = $8::uuid
    -- A seat of an earlier release may have another time than its game, so the game itself is named.
    AND (own.dealt_at, own.game_id) < ($5::timestamptz, $6::uuid) AND own.game_id <> $6::uuid
    AND (
        $2::boolean OR g.public OR may_see_game($1::uuid, $9::bytea, g.game_id, g.table_id)
    )
    AND ($3::text IS NULL OR g.ruleset_id = $3::text)
    AND ($4::text IS NULL OR g.status = $4::text)
    AND (NOT $14::boolean OR g.status IN ('ended', 'aborted'))
    AND ($10::timestamptz IS NULL OR g.created_at >= $10::timestamptz)
    AND ($11::timestamptz IS NULL OR g.created_at < $11::timestamptz)
    AND (
        $12::text IS NULL OR result_is(
            g.game_id, g.status, g.reason, g.shithead, g.places, $8::uuid, $12::text
        )
    )
    AND ($13::uuid IS NULL OR EXISTS (
        SELECT FROM game_seats o WHERE o.game_id = g.game_id AND o.player_id = $13::uuid
    ))
ORDER BY own.dealt_at DESC, own.game_id DESC
LIMIT $7::bigint
