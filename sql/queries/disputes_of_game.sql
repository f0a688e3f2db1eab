-- disputes_of_game: a page of the disputes about a game, newest first.
-- $1 game, $2 and $3 time and id of the last row of the previous page, $4 row limit
SELECT dispute_id, opened_at
FROM disputes
WHERE game_id = $1::uuid AND (opened_at, dispute_id) < ($2::timestamptz, $3::uuid)
ORDER BY opened_at DESC, dispute_id DESC
LIMIT $4::bigint
