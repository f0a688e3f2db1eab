-- games_judged: games with a dispute in which one player is a referee and another is the accused.
-- $1 referee, $2 accused
SELECT DISTINCT d.game_id
FROM dispute_referees r
JOIN disputes d ON d.dispute_id = r.dispute_id
WHERE r.player_id = $1::uuid AND NOT r.recused AND d.accused = $2::uuid
ORDER BY d.game_id
