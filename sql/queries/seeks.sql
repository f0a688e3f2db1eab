-- add_seek: add a player's seek; returns its id, or that of an equal one which is open already.
-- $1 columns as JSON, $2 quotas as JSON
SELECT add_seek($1::jsonb, $2::jsonb)

-- renew_seek: let an open seek expire later; returns whether it was open.
-- $1 seek, $2 player, $3 time, $4 new time at which it expires
SELECT renew_seek($1::uuid, $2::uuid, $3::timestamptz, $4::timestamptz)

-- renew_seeks: let those of some seeks that are open expire later; returns how many.
-- $1 seeks, $2 time, $3 new time at which they expire
SELECT renew_seeks($1::uuid[], $2::timestamptz, $3::timestamptz)

-- withdraw_seek: end an open seek without a table; returns whether it was open.
-- $1 seek, $2 player, $3 time
SELECT withdraw_seek($1::uuid, $2::uuid, $3::timestamptz)

-- seek_by_id: a seek, open or not.
-- $1 seek
SELECT
    seek_id, player_id, rulesets, seats, turn_seconds, swap_seconds, reserve_seconds, entropy, only_stayers, standing, key, fill_after, keep,
    created_at, expires_at, ended_at, table_id
FROM seeks
WHERE seek_id = $1::uuid

-- seeks_of: the seeks of a player, or those that led to a table, newest first.
-- $1 player, $2 whether only those that led to a table, $3 limit
SELECT
    seek_id, player_id, rulesets, seats, turn_seconds, swap_seconds, reserve_seconds, entropy, only_stayers, standing, key, fill_after, keep,
    created_at, expires_at, ended_at, table_id
FROM seeks
WHERE player_id = $1::uuid AND (table_id IS NOT NULL OR NOT $2::boolean)
ORDER BY created_at DESC, seek_id DESC
LIMIT $3

-- open_seeks: the open seeks, oldest first; if there are too many, those of players whom a number chooses.
-- $1 time, $2 any number, $3 limit
SELECT
    s.seek_id, s.player_id, s.rulesets, s.seats, s.turn_seconds, s.swap_seconds, s.reserve_seconds, s.entropy, s.only_stayers, s.standing,
    s.key, s.fill_after, s.keep,
    s.created_at, s.expires_at, s.ended_at, s.table_id
FROM (
    SELECT o.*
    FROM seeks o
    WHERE o.ended_at IS NULL AND o.expires_at > $1::timestamptz
    ORDER BY uuid_hash_extended(o.player_id, $2::bigint)
    LIMIT $3
) s
ORDER BY s.created_at, s.seek_id

-- seeks_waiting: how many players of each standing wait on which conditions, most players, then the longest wait first.
-- $1 time after which they expire, $2 limit
SELECT
    rulesets, seats, turn_seconds, swap_seconds, reserve_seconds, entropy, only_stayers,
    count(DISTINCT player_id),
    count(DISTINCT player_id) FILTER (WHERE standing = 'stays'),
    count(DISTINCT player_id) FILTER (WHERE standing = 'leaves')
FROM seeks
WHERE ended_at IS NULL AND expires_at > $1::timestamptz
GROUP BY rulesets, seats, turn_seconds, swap_seconds, reserve_seconds, entropy, only_stayers
ORDER BY count(DISTINCT player_id) DESC, min(created_at), rulesets
LIMIT $2

-- hands_left: of a player's newest hands with other people that are over, how many, and how many the player left.
--
-- A player who came back while a bot stood in has left only if the hand then waited in vain.
-- $1 player, $2 number of hands, those against bots and running ones included
SELECT count(*), count(*) FILTER (
    WHERE g.left_by @> to_jsonb(own.seat)
        AND (g.reason = 'idle' OR NOT coalesce(g.back, '[]') @> to_jsonb(own.seat))
)
FROM (
    SELECT s.game_id, s.seat
    FROM game_seats s
    WHERE s.player_id = $1::uuid
    ORDER BY s.dealt_at DESC, s.game_id DESC
    LIMIT $2
) own
JOIN games g ON g.game_id = own.game_id
WHERE
    g.left_by IS NOT NULL
    AND EXISTS (
        SELECT FROM game_seats o WHERE o.game_id = own.game_id AND o.player_id <> $1::uuid
    )

-- purge_seeks: delete a batch of seeks that ended or expired before a time; returns how many, 0 at the end.
-- $1 time
SELECT purge_seeks($1::timestamptz)
