-- log_waiting: game versions that wait for a leaf in the public log, in order of arrival.
--
-- First the outbox rows (game created, deck committed, game sealed), marked if the leaf exists
-- already. Then running games that have moved since their last leaf, if that is old enough and no
-- outbox row waits. One snapshot, so no version is in both parts.
-- $1 how old a last leaf is at least, $2 most rows of each part
(
    SELECT
        o.stream_id,
        o.version,
        CASE
            WHEN s.version = o.version THEN s.head
            ELSE (
                SELECT sha256('\x00'::bytea || e.line)
                FROM events e
                WHERE e.stream_id = o.stream_id AND e.seq = o.version - 1
            )
        END AS head,
        true AS asked,
        EXISTS (
            SELECT FROM log_leaves l WHERE l.game_id = o.stream_id AND l.version = o.version
        ) AS known
    FROM outbox o
    JOIN streams s ON s.stream_id = o.stream_id
    WHERE o.topic = 'log'
    ORDER BY o.created_at, o.version
    LIMIT $2::bigint
)
UNION ALL
(
    SELECT s.stream_id, s.version, s.head, false, false
    FROM games g
    JOIN streams s ON s.stream_id = g.game_id
    CROSS JOIN LATERAL (
        SELECT n.version, n.added_at
        FROM log_leaves n
        WHERE n.game_id = g.game_id
        ORDER BY n.version DESC
        LIMIT 1
    ) l
    WHERE g.status IN ('shuffling', 'swapping', 'playing')
        AND s.version > l.version
        AND l.added_at <= $1::timestamptz
        AND NOT EXISTS (SELECT FROM outbox o WHERE o.stream_id = g.game_id AND o.topic = 'log')
    LIMIT $2::bigint
)
