-- nothing: a statement without effect, to test the connection.
SELECT 1

-- probe_write: write and commit as a move does, without a trace in the record.
SELECT probe_write()

-- clocks: the time of the database server, and the newest stored time.
--
-- The newest stored time is the latest of: the start of the newest game, the last events of the 100
-- newest games, and the last batch of the public log. In a busy service one of them is seconds old.
SELECT
    clock_timestamp(),
    greatest(
        (SELECT max(created_at) FROM games),
        (SELECT made_at FROM log_heads WHERE size > 0 ORDER BY size DESC LIMIT 1),
        (
            SELECT max((convert_from(e.line, 'UTF8')::jsonb ->> 'at')::timestamptz)
            FROM (SELECT game_id FROM games ORDER BY created_at DESC, game_id DESC LIMIT 100) g
            JOIN streams s ON s.stream_id = g.game_id
            JOIN events e ON e.stream_id = s.stream_id AND e.seq = s.version - 1
        )
    )

-- newest_key_used: id of the key that encrypted the newest seed of a running game or refused move.
SELECT n.key_id
FROM (
    (
        SELECT s.key_id, g.created_at AS at
        FROM games g
        JOIN secrets s ON s.game_id = g.game_id
        WHERE g.status IN ('shuffling', 'swapping', 'playing')
        ORDER BY g.created_at DESC
        LIMIT 1
    )
    UNION ALL
    (SELECT r.key_id, r.at FROM refusals r ORDER BY r.at DESC LIMIT 1)
) n
ORDER BY n.at DESC
LIMIT 1

-- backup_facts: totals for the manifest of a backup.
SELECT
    (SELECT count(*) FROM games),
    (SELECT count(*) FROM games g WHERE g.status IN ('shuffling', 'swapping', 'playing')),
    h.size,
    h.root,
    ARRAY(
        SELECT s.key_id FROM secrets s
        UNION
        SELECT r.key_id FROM refusals r JOIN secrets s ON s.game_id = r.game_id
        ORDER BY 1
    )
FROM log_heads h
ORDER BY h.size DESC
LIMIT 1
