-- archivable_games: games that were over before a time and can be archived, oldest first.
-- $1 time
WITH over AS (
    SELECT g.game_id, g.ended_at
    FROM games g
    WHERE g.ended_at < $1::timestamptz
        AND NOT EXISTS (SELECT FROM archived a WHERE a.stream_id = g.game_id)
)
SELECT g.game_id
FROM over g
WHERE NOT EXISTS (SELECT FROM outbox o WHERE o.stream_id = g.game_id)
ORDER BY g.ended_at, g.game_id
