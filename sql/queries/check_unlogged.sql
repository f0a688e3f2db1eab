-- check_unlogged: finished games without a leaf in the public log and without an outbox row for it.
-- $1 row limit
WITH over AS (
    SELECT g.game_id, s.version
    FROM games g
    JOIN streams s ON s.stream_id = g.game_id
    WHERE g.status IN ('ended', 'aborted')
)
SELECT g.game_id
FROM over g
WHERE NOT EXISTS (
        SELECT FROM log_leaves l WHERE l.game_id = g.game_id AND l.version = g.version
    )
    AND NOT EXISTS (SELECT FROM outbox o WHERE o.stream_id = g.game_id AND o.topic = 'log')
ORDER BY g.game_id
LIMIT $1::bigint
