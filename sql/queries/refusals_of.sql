-- refusals_of: the refused moves of a game in order of their times, then of arrival.
-- $1 game
SELECT refusal_id, at, seat, key_id, sealed, arrival IS NOT NULL
FROM refusals
WHERE game_id = $1::uuid
ORDER BY at, arrival NULLS FIRST, refusal_id
