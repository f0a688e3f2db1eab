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
