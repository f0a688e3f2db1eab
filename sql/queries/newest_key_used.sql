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
