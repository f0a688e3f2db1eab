-- check_hands_of_table: the hands of a table with their players, for the comparison with its events.
-- $1 table
SELECT
    g.game_id,
    g.hand,
    g.public,
    g.ruleset_id,
    ARRAY(SELECT s.player_id FROM game_seats s WHERE s.game_id = g.game_id ORDER BY s.seat)
FROM games g
WHERE g.table_id = $1::uuid
