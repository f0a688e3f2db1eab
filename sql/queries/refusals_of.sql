-- refusals_of: the refused moves of a game in their order.
-- $1 game
SELECT at, seat, key_id, sealed FROM refusals WHERE game_id = $1::uuid ORDER BY at, refusal_id
