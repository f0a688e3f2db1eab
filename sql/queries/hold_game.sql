-- hold_game: lock a game's stream until the end of the transaction; returns its state.
-- $1 game
SELECT
    s.version,
    s.head,
    g.status IN ('ended', 'aborted') AS over,
    EXISTS (SELECT 1 FROM archived a WHERE a.stream_id = $1::uuid) AS archived,
    EXISTS (SELECT 1 FROM outbox o WHERE o.stream_id = $1::uuid) AS outbox_pending
FROM streams s
JOIN games g ON g.game_id = s.stream_id
WHERE s.stream_id = $1::uuid AND s.kind = 'game'
FOR UPDATE OF s
