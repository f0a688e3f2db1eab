-- games_without_seed: running games whose seed is missing or encrypted with an unknown key.
-- $1 ids of the keys
SELECT g.game_id, g.version, g.created_at, s.key_id
FROM games g
LEFT JOIN secrets s ON s.game_id = g.game_id
WHERE g.status IN ('shuffling', 'swapping', 'playing')
    AND (s.key_id IS NULL OR s.key_id <> ALL ($1::text[]))
ORDER BY g.created_at, g.game_id
