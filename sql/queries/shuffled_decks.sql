-- shuffled_decks: the decks of games that are over, oldest first.
-- $1 and $2 time and id of the last one seen, $3 most rows
SELECT game_id, ruleset_id, aborted, deck, dealt, to_people, ended_at
FROM shuffled_decks
WHERE (ended_at, game_id) > ($1::timestamptz, $2::uuid)
ORDER BY ended_at, game_id
LIMIT $3::bigint
