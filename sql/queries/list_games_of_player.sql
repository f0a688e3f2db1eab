-- list_games_of_player: a page of the games of a player, newest first.
-- $1 … $7 as in list_games, $8 player, $9 SHA-256 of an invite or null
SELECT
    game_id, table_id, hand, ruleset_id, status, version, turn, dealer,
    created_at, ended_at, reason, shithead, places, public, back, seats
FROM game_rows g
WHERE g.game_id IN (SELECT s.game_id FROM game_seats s WHERE s.player_id = $8::uuid)
    AND (g.created_at, g.game_id) < ($5::timestamptz, $6::uuid)
    AND (
        $2::boolean OR g.public OR may_see_game($1::uuid, $9::bytea, g.game_id, g.table_id)
    )
    AND ($3::text IS NULL OR g.ruleset_id = $3::text)
    AND ($4::text IS NULL OR g.status = $4::text)
ORDER BY g.created_at DESC, g.game_id DESC
LIMIT $7::bigint
