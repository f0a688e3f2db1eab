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
