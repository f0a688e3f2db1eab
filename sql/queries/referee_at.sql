-- referee_at: whether a player is a referee in a dispute about a game of a table.
-- $1 table, $2 player
SELECT EXISTS (
    SELECT 1 FROM dispute_referees r
    JOIN disputes d ON d.dispute_id = r.dispute_id
    JOIN games g ON g.game_id = d.game_id
    WHERE r.player_id = $2::uuid AND NOT r.recused AND g.table_id = $1::uuid
)
