-- running_disputes: running disputes with a charge about a move of a game.
--
-- Includes disputes whose row names no move, because they may be about this one.
-- $1 game, $2 first event of the move, $3 charge
SELECT dispute_id
FROM disputes
WHERE game_id = $1::uuid
    AND charge = $3::text
    AND state <> 'final'
    AND (move = $2::integer OR move IS NULL)
ORDER BY opened_at, dispute_id
