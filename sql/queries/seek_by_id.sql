-- seek_by_id: a seek, open or not.
-- $1 seek
SELECT
    seek_id, player_id, rulesets, seats, turn_seconds, swap_seconds, entropy, key, fill_after,
    created_at, expires_at, ended_at, table_id
FROM seeks
WHERE seek_id = $1::uuid
