-- game_by_id: the summary row of a game.
-- $1 game
SELECT
    game_id, table_id, hand, ruleset_id, status, version, turn, dealer,
    created_at, ended_at, reason, shithead, places, public, back, seats
FROM game_rows
WHERE game_id = $1::uuid
