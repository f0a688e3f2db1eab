-- shuffled_decks: the decks of games that are over, oldest first.
-- $1 and $2 time and id of the last row of the previous page, $3 row limit,
-- $4 true: public games, false: private ones, null: all, $5 ended before this time or null
SELECT s.game_id, s.ruleset_id, s.aborted, s.deck, s.dealt, s.to_people, s.ended_at
FROM shuffled_decks s
WHERE (s.ended_at, s.game_id) > ($1::timestamptz, $2::uuid)
    AND ($4::boolean IS NULL OR EXISTS (
        SELECT FROM games g WHERE g.game_id = s.game_id AND g.public = $4::boolean
    ))
    AND ($5::timestamptz IS NULL OR s.ended_at < $5::timestamptz)
ORDER BY s.ended_at, s.game_id
LIMIT $3::bigint
