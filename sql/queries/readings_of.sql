-- readings_of: a page of the access log of a game, newest first.
-- $1 game, $2 and $3 time and id of the last row of the previous page, $4 row limit
SELECT reading_id, at, reader, what
FROM readings
WHERE game_id = $1::uuid AND (at, reading_id) < ($2::timestamptz, $3::uuid)
ORDER BY at DESC, reading_id DESC
LIMIT $4::bigint
