-- logged_hands: public hands that are over, in the order in which the public log has their ends.
-- $1 index of the first leaf, $2 index after the last leaf
SELECT
    l.leaf_index,
    l.data,
    g.game_id,
    g.ruleset_id,
    g.ended_at,
    g.status,
    g.reason,
    g.shithead,
    g.places,
    (
        SELECT jsonb_agg(
            jsonb_build_array(
                s.bot, CASE WHEN p.erased_at IS NULL THEN s.player_id END
            ) ORDER BY s.seat
        )
        FROM game_seats s
        LEFT JOIN players p ON p.player_id = s.player_id
        WHERE s.game_id = g.game_id
    ) AS seats,
    EXISTS (
        SELECT FROM disputes d
        WHERE d.game_id = g.game_id AND d.state = 'final' AND d.verdict = 'cad'
    ) AS cad
FROM log_leaves l
JOIN games g ON g.game_id = l.game_id AND g.version = l.version
WHERE
    l.leaf_index >= $1::bigint AND l.leaf_index < $2::bigint
    AND g.public AND g.status IN ('ended', 'aborted')
ORDER BY l.leaf_index

-- hands_of_pair: the last public hands with one of two players, in the order of the public log.
-- $1, $2 players, $3 time after which no hand counts, $4 maximum number of hands
SELECT newest.leaf_index, newest.game_id, newest.players
FROM (
    SELECT
        l.leaf_index,
        g.game_id,
        ARRAY(
            SELECT CASE WHEN p.erased_at IS NULL THEN s.player_id END
            FROM game_seats s
            LEFT JOIN players p ON p.player_id = s.player_id
            WHERE s.game_id = g.game_id
            ORDER BY s.seat
        ) AS players
    FROM games g
    JOIN log_leaves l ON l.game_id = g.game_id AND l.version = g.version
    WHERE
        g.public AND g.status = 'ended' AND g.ended_at <= $3::timestamptz
        AND g.game_id IN (
            SELECT s.game_id FROM game_seats s WHERE s.player_id IN ($1::uuid, $2::uuid)
        )
    ORDER BY l.leaf_index DESC
    LIMIT $4::integer
) AS newest
ORDER BY newest.leaf_index

-- has_unlogged_hands: whether a public hand that ended in a time is not in the public log's tree.
-- $1 begin of the time, $2 its end, $3 number of leaves of the tree
SELECT EXISTS (
    SELECT
    FROM games g
    WHERE
        g.public AND g.status IN ('ended', 'aborted')
        AND g.ended_at >= $1::timestamptz AND g.ended_at < $2::timestamptz
        AND NOT EXISTS (
            SELECT FROM log_leaves l
            WHERE l.game_id = g.game_id AND l.version = g.version AND l.leaf_index < $3::bigint
        )
)
