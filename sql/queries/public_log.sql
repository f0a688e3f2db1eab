-- wal_archived: whether an archive holds the WAL up to a position; null if there is no such archive.
--
-- pg_receivewal confirms to its replication slot what it has written to disk. archive_command stores
-- whole segments, in order.
-- $1 the replication slot, or 'archiver' for archive_command, $2 position
SELECT CASE $1::text
    WHEN 'archiver' THEN (
        SELECT pg_walfile_name($2::pg_lsn) COLLATE "C" <= left(a.last_archived_wal, 24) COLLATE "C"
        FROM pg_stat_archiver a
    )
    ELSE (
        SELECT s.restart_lsn >= $2::pg_lsn
        FROM pg_replication_slots s
        WHERE s.slot_name = $1::text
    )
END

-- log_head: the present tree, signed or not.
SELECT size, root, note FROM log_heads ORDER BY size DESC LIMIT 1

-- log_published: the newest signed head, with its cosignatures.
SELECT
    h.size,
    h.root,
    h.note,
    ARRAY(SELECT c.line FROM log_cosignatures c WHERE c.size = h.size ORDER BY c.witness) AS lines
FROM log_heads h
WHERE h.note IS NOT NULL
ORDER BY h.size DESC
LIMIT 1

-- log_covering: of the first 50 signed heads that cover a leaf, the one with most cosignatures.
--
-- An early head is chosen, so that repeated requests get the same evidence. It is not always the
-- first, because witnesses may not have answered when that was new.
-- $1 index of the leaf
SELECT h.size, h.root, h.note, h.lines
FROM (
    SELECT
        n.size,
        n.root,
        n.note,
        ARRAY(SELECT c.line FROM log_cosignatures c WHERE c.size = n.size ORDER BY c.witness) AS lines
    FROM log_heads n
    WHERE n.size > $1::bigint AND n.note IS NOT NULL
    ORDER BY n.size
    LIMIT 50
) h
ORDER BY cardinality(h.lines) DESC, h.size
LIMIT 1

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

-- append_log: add a batch to the public log.
-- $1 the batch
SELECT append_log($1::jsonb)

-- sign_log_head: store a signed checkpoint.
-- $1 size, $2 note
SELECT sign_log_head($1::bigint, $2::bytea)

-- keep_cosignature: store a witness's cosignature.
-- $1 size, $2 witness, $3 signature line
SELECT keep_cosignature($1::bigint, $2::text, $3::text)

-- log_cosigned_size: the size of the largest tree with a stored cosignature of a witness, else 0.
-- $1 witness
SELECT coalesce(max(size), 0) FROM log_cosignatures WHERE witness = $1::text

-- log_hashes: consecutive hashes of a tile, concatenated; as many as there are.
-- $1 level, $2 first position, $3 count
SELECT coalesce(string_agg(hash, '' ORDER BY position), '')
FROM log_hashes
WHERE level = $1::integer AND position >= $2::bigint AND position < $2::bigint + $3::bigint

-- log_entries: the data of consecutive leaves.
-- $1 first index, $2 count
SELECT data
FROM log_leaves
WHERE leaf_index >= $1::bigint AND leaf_index < $1::bigint + $2::bigint
ORDER BY leaf_index

-- log_leaf_of_game: the newest leaf of a game in the public log when its tree had a given size.
-- $1 game, $2 tree size
SELECT leaf_index, version, data
FROM log_leaves
WHERE game_id = $1::uuid AND leaf_index < $2::bigint
ORDER BY version DESC
LIMIT 1

-- log_restores: the leaves of the public log that declare restores, oldest first.
-- $1 the id that stands for their game
SELECT leaf_index, version, data FROM log_leaves WHERE game_id = $1::uuid ORDER BY version

-- log_heads_between: the trees of the public log between two sizes, signed or not, smallest first.
-- $1 size below the first, $2 size of the last
SELECT size, root, note
FROM log_heads
WHERE size > $1::bigint AND size <= $2::bigint
ORDER BY size

-- log_damage: what was found damaged in the stored public log, and was not read as whole since.
SELECT part, place, reason FROM log_damage ORDER BY part, place

-- keep_log_damage: replace what is known of the damage in a part of the public log.
-- $1 part, $2 the places and reasons
SELECT keep_log_damage($1::text, $2::jsonb)

-- log_stamped: the newest checkpoints with a time-stamp token.
-- $1 row limit
SELECT size, authority, stamped_at, added_at, answer
FROM log_time_stamps
ORDER BY size DESC, authority
LIMIT $1::bigint

-- log_stamp_over: the smallest stamped checkpoint that has a leaf.
-- $1 index of the leaf
SELECT size, authority, stamped_at, added_at, answer
FROM log_time_stamps
WHERE size > $1::bigint
ORDER BY size, authority
LIMIT 1

-- keep_time_stamp: store the answer of a time-stamp authority for a checkpoint.
-- $1 size, $2 authority, $3 time in the token, $4 now, $5 answer
SELECT keep_time_stamp($1::bigint, $2::text, $3::timestamptz, $4::timestamptz, $5::bytea)

-- log_newest_dispute: when the newest running dispute was opened; null without one.
SELECT max(opened_at) FROM disputes WHERE state <> 'final'
