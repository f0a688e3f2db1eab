-- referee_of: whether a player is a referee in a dispute about a game.
-- $1 game, $2 player
SELECT EXISTS (
    SELECT FROM disputes d
    JOIN dispute_referees r ON r.dispute_id = d.dispute_id
    WHERE d.game_id = $1::uuid AND r.player_id = $2::uuid AND NOT r.recused
)
