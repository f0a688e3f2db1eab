-- check_leaves: leaves of the public log, each with the hash in its tile and the game's event.
--
-- The event is null if it is not in the database: the game is archived, or lost.
-- $1 first index, $2 row limit
SELECT l.leaf_index, l.game_id, l.version, l.data, h.hash, e.line
FROM log_leaves l
LEFT JOIN log_hashes h ON h.level = 0 AND h.position = l.leaf_index
LEFT JOIN events e ON e.stream_id = l.game_id AND e.seq = l.version - 1
WHERE l.leaf_index >= $1::bigint
ORDER BY l.leaf_index
LIMIT $2::bigint

-- check_heads: heads of the public log.
-- $1 the tree size must be greater than this, $2 and at most this
SELECT size, root, note
FROM log_heads
WHERE size > $1::bigint AND size <= $2::bigint
ORDER BY size

-- check_hash: one hash in a tile of the public log.
-- $1 level, $2 position
SELECT hash FROM log_hashes WHERE level = $1::integer AND position = $2::bigint

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

-- check_game_row: the summary row of a game, for the comparison with its events.
-- $1 game
SELECT
    g.version,
    to_jsonb(g),
    (
        SELECT jsonb_agg(
            jsonb_build_object('seat', s.seat, 'kind', s.kind, 'bot', s.bot) ORDER BY s.seat
        )
        FROM game_seats s
        WHERE s.game_id = g.game_id
    )
FROM games g
WHERE g.game_id = $1::uuid

-- check_table_row: the summary row of a table, for the comparison with its events.
-- $1 table
SELECT
    t.version,
    to_jsonb(t),
    (
        SELECT jsonb_agg(
            jsonb_build_object(
                'seat', s.seat, 'kind', s.kind, 'bot', s.bot, 'player_id', s.player_id
            ) ORDER BY s.seat
        )
        FROM table_seats s
        WHERE s.table_id = t.table_id
    )
FROM tables t
WHERE t.table_id = $1::uuid

-- check_dispute_row: the summary row of a dispute, for the comparison with its events.
-- $1 dispute
SELECT
    d.version,
    to_jsonb(d),
    (
        SELECT jsonb_agg(
            jsonb_build_object(
                'referee', r.referee, 'player_id', r.player_id, 'recused', r.recused, 'ruled', r.ruled
            ) ORDER BY r.referee
        )
        FROM dispute_referees r
        WHERE r.dispute_id = d.dispute_id
    )
FROM disputes d
WHERE d.dispute_id = $1::uuid

-- check_hands_of_table: the hands of a table with their players, for the comparison with its events.
-- $1 table
SELECT
    g.game_id,
    g.hand,
    g.public,
    g.ruleset_id,
    ARRAY(SELECT s.player_id FROM game_seats s WHERE s.game_id = g.game_id ORDER BY s.seat)
FROM games g
WHERE g.table_id = $1::uuid

-- check_streams: streams in order of id, with the version in their summary row.
-- $1 after this id, $2 row limit
SELECT s.stream_id, s.kind, s.version, coalesce(g.version, t.version, d.version)
FROM streams s
LEFT JOIN games g ON g.game_id = s.stream_id
LEFT JOIN tables t ON t.table_id = s.stream_id
LEFT JOIN disputes d ON d.dispute_id = s.stream_id
WHERE s.stream_id > $1::uuid
ORDER BY s.stream_id
LIMIT $2::bigint

-- check_missing_streams: games, tables and disputes that rows name by id and that have no stream.
-- Without a subquery for each row, which the shards of Citus refuse.
-- $1 row limit
WITH named AS (
    SELECT 'game' AS kind, g.game_id AS id FROM games g
    UNION SELECT 'table', g.table_id FROM games g
    UNION SELECT 'table', t.table_id FROM tables t
    UNION SELECT 'dispute', d.dispute_id FROM disputes d
    UNION SELECT 'game', d.game_id FROM disputes d
    UNION SELECT 'dispute', b.dispute_id FROM dispute_bundles b
), missing AS (
    SELECT n.id FROM named n EXCEPT SELECT s.stream_id FROM streams s
)
SELECT n.kind, n.id
FROM named n
JOIN missing m ON m.id = n.id
ORDER BY n.kind, n.id
LIMIT $1::bigint

-- check_extent: number of streams and of leaves to check.
SELECT (SELECT count(*) FROM streams), (SELECT count(*) FROM log_leaves)

-- check_blind_choices: the blind choices counted for a game, and its players by seat.
--
-- They are null if the game is not counted yet: its outbox row is still there.
-- $1 game
SELECT
    CASE WHEN NOT EXISTS (
        SELECT FROM outbox o WHERE o.stream_id = $1::uuid AND o.topic = 'statistics'
    ) THEN
        coalesce(
            (
                SELECT jsonb_agg(jsonb_build_array(
                    c.seq, c.player_id, c.slots, c.playable, c.fitted
                ) ORDER BY c.seq)
                FROM blind_choices c
                WHERE c.game_id = $1::uuid
            ),
            '[]'::jsonb
        )
    END,
    ARRAY(SELECT s.player_id FROM game_seats s WHERE s.game_id = $1::uuid ORDER BY s.seat)

-- check_ratings: what the stored ratings are computed from, the present numbers, and all ratings.
SELECT
    r.leaves,
    (r.erased, r.rulings) = (
        r.erased_now,
        (SELECT count(*) FROM disputes d WHERE d.state = 'final' AND d.verdict = 'cad')
    ) AS is_current,
    (
        SELECT coalesce(jsonb_agg(jsonb_build_array(s.ruleset_id, s.rated, s.mu, s.sigma, s.hands)), '[]')
        FROM ratings s
    ) AS stored
FROM ratings_reached r
