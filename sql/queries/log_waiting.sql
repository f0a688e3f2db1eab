-- log_waiting: game versions that wait for a leaf in the public log, in order of arrival.
--
-- First the outbox rows (game created, deck committed, game sealed), marked if the leaf exists
-- already. Then running games with moves after their last leaf, if that leaf is old enough and no
-- outbox row waits. Both parts are one snapshot, so no version is in both.
--
-- Streams and queues are read in separate steps: Citus has no plan for a subquery that joins a
-- distributed table to a local one (decision 0060). On its shards a commit is not visible everywhere at
-- once: an outbox row whose version the stream does not have yet stays, and is read again.
-- $1 latest time of a last leaf, $2 row limit of each part
WITH requested AS (
    SELECT o.stream_id, o.version, o.created_at
    FROM outbox o
    WHERE o.topic = 'log'
    ORDER BY o.created_at, o.version
    LIMIT $2::bigint
),
heads AS (
    SELECT
        a.stream_id,
        a.version,
        a.created_at,
        CASE WHEN s.version = a.version THEN s.head ELSE sha256('\x00'::bytea || e.line) END AS head
    FROM requested a
    JOIN streams s ON s.stream_id = a.stream_id
    LEFT JOIN events e ON e.stream_id = s.stream_id AND e.seq = a.version - 1 AND a.version < s.version
),
running AS (
    SELECT s.stream_id, s.version, s.head
    FROM games g
    JOIN streams s ON s.stream_id = g.game_id
    WHERE g.status IN ('shuffling', 'swapping', 'playing')
)
(
    SELECT
        h.stream_id,
        h.version,
        h.head,
        true AS in_outbox,
        EXISTS (
            SELECT FROM log_leaves l WHERE l.game_id = h.stream_id AND l.version = h.version
        ) AS in_log
    FROM heads h
    WHERE h.head IS NOT NULL
    ORDER BY h.created_at, h.version
)
UNION ALL
(
    SELECT r.stream_id, r.version, r.head, false, false
    FROM running r
    CROSS JOIN LATERAL (
        SELECT n.version, n.added_at
        FROM log_leaves n
        WHERE n.game_id = r.stream_id
        ORDER BY n.version DESC
        LIMIT 1
    ) l
    WHERE r.version > l.version
        AND l.added_at <= $1::timestamptz
        AND NOT EXISTS (SELECT FROM outbox o WHERE o.stream_id = r.stream_id AND o.topic = 'log')
    LIMIT $2::bigint
)
