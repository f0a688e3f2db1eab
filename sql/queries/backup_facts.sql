-- backup_facts: what the manifest of a backup says of the whole.
SELECT
    (SELECT count(*) FROM games),
    (SELECT count(*) FROM games g WHERE g.status IN ('shuffling', 'swapping', 'playing')),
    h.size,
    h.root,
    ARRAY(SELECT DISTINCT s.key_id FROM secrets s ORDER BY s.key_id)
FROM log_heads h
ORDER BY h.size DESC
LIMIT 1
