-- open_seeks: the open seeks, oldest first; if there are too many, those of players whom a number chooses.
-- $1 time, $2 any number, $3 limit
SELECT
    s.seek_id, s.player_id, s.rulesets, s.seats, s.turn_seconds, s.swap_seconds, s.entropy, s.key, s.fill_after,
    s.created_at, s.expires_at, s.ended_at, s.table_id
FROM (
    SELECT o.*
    FROM seeks o
    WHERE o.ended_at IS NULL AND o.expires_at > $1::timestamptz
    ORDER BY uuid_hash_extended(o.player_id, $2::bigint)
    LIMIT $3
) s
ORDER BY s.created_at, s.seek_id
