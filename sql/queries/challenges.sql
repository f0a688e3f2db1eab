-- challenge_at: the challenge for which a table was opened.
-- $1 table
SELECT c.table_id, c.challenger, c.player, c.state, c.created_at, c.expires_at, t.ruleset_id, t.public
FROM challenges c
JOIN tables t ON t.table_id = c.table_id
WHERE c.table_id = $1::uuid

-- is_shown_challenge: whether neither of two players blocks the other.
-- $1 player, $2 the other
SELECT NOT EXISTS (
    SELECT FROM blocks b
    WHERE (b.player = $1::uuid AND b.blocked = $2::uuid) OR (b.player = $2::uuid AND b.blocked = $1::uuid)
)

-- challenges_sent: the challenges by a player, newest first.
-- $1 player, $2 row limit
SELECT c.table_id, c.challenger, c.player, c.state, c.created_at, c.expires_at, t.ruleset_id, t.public
FROM challenges c
JOIN tables t ON t.table_id = c.table_id
WHERE c.challenger = $1::uuid
ORDER BY c.created_at DESC, c.table_id
LIMIT $2::bigint

-- challenges_received: the open challenges of a player that the player may see, newest first.
--
-- Not those between players of whom one blocks the other.
-- $1 player, $2 time, $3 row limit
SELECT c.table_id, c.challenger, c.player, c.state, c.created_at, c.expires_at, t.ruleset_id, t.public
FROM challenges c
JOIN tables t ON t.table_id = c.table_id
WHERE c.player = $1::uuid AND c.state = 'open' AND c.expires_at > $2::timestamptz
    AND NOT EXISTS (
        SELECT FROM blocks b
        WHERE (b.player = c.player AND b.blocked = c.challenger)
            OR (b.player = c.challenger AND b.blocked = c.player)
    )
ORDER BY c.created_at DESC, c.table_id
LIMIT $3::bigint

-- expired_challenges: open challenges that have expired, the earliest end first.
-- $1 time, $2 row limit
SELECT c.table_id
FROM challenges c
WHERE c.state = 'open' AND c.expires_at <= $1::timestamptz
ORDER BY c.expires_at
LIMIT $2::bigint

-- purge_challenges: delete challenges that expired before a time.
-- $1 time
SELECT purge_challenges($1::timestamptz)
