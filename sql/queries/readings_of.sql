-- readings_of: who read what of a game, in order.
-- $1 game
SELECT at, reader, what FROM readings WHERE game_id = $1::uuid ORDER BY at, reading_id
