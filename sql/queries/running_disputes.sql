-- running_disputes: running disputes about a move with a charge, or whose row names no move.
-- $1 game, $2 first event of the move, $3 charge
SELECT dispute_id
FROM disputes
WHERE game_id = $1::uuid
    AND charge = $3::text
    AND state <> 'final'
    AND (move = $2::integer OR move IS NULL)
ORDER BY opened_at, dispute_id
