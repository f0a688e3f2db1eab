-- own_tables: the open tables of a player, newest first, and further tables by their ids.
--
-- With a time also those that were opened after it, and are closed already.
-- $1 player, $2 ids of further tables, $3 time or null
SELECT o.table_id, o.version, o.status, o.game_id, o.own
FROM (
    SELECT
        t.table_id, t.version, t.status, t.game_id, t.created_at,
        t.host = $1::uuid OR EXISTS (
            SELECT FROM table_seats s WHERE s.table_id = t.table_id AND s.player_id = $1::uuid
        ) AS own
    FROM tables t
    WHERE t.table_id = ANY ($2::uuid[]) OR (
        (t.status <> 'closed' OR t.created_at > $3::timestamptz) AND (
            t.host = $1::uuid
            OR t.table_id IN (SELECT s.table_id FROM table_seats s WHERE s.player_id = $1::uuid)
        )
    )
) o
ORDER BY o.created_at DESC, o.table_id DESC

-- hands_since: the hands of some tables that were dealt after a time, the newest first.
-- $1 tables, $2 time, $3 row limit
SELECT g.game_id
FROM games g
WHERE g.table_id = ANY ($1::uuid[]) AND g.created_at > $2::timestamptz
ORDER BY g.created_at DESC
LIMIT $3::bigint

-- game_positions: the versions of those of some games that a player has a seat in or hosts.
-- $1 player, $2 games
SELECT g.game_id, g.table_id, g.version, g.ended_at IS NOT NULL AS is_over
FROM games g
WHERE g.game_id = ANY ($2::uuid[]) AND (
    EXISTS (SELECT FROM game_seats s WHERE s.game_id = g.game_id AND s.player_id = $1::uuid)
    OR EXISTS (SELECT FROM tables t WHERE t.table_id = g.table_id AND t.host = $1::uuid)
)

-- own_disputes: the running disputes of a player, as a side or as a referee, newest first.
-- $1 player, $2 row limit
SELECT d.dispute_id
FROM disputes d
WHERE d.state <> 'final' AND (
    d.accuser = $1::uuid
    OR d.accused = $1::uuid
    OR d.partner = $1::uuid
    OR d.dispute_id IN (
        SELECT r.dispute_id FROM dispute_referees r
        WHERE r.player_id = $1::uuid AND NOT r.recused
    )
)
ORDER BY d.opened_at DESC, d.dispute_id DESC
LIMIT $2::bigint

-- disputes_to_judge: disputes about public games that wait for referees, newest first.
--
-- Without those in which the player is a side, or has been a referee.
-- $1 player, $2 row limit
SELECT d.dispute_id
FROM disputes d
JOIN games g ON g.game_id = d.game_id
WHERE g.public
    AND d.state IN ('open', 'appealed')
    AND d.accuser <> $1::uuid
    AND d.accused IS DISTINCT FROM $1::uuid
    AND d.partner IS DISTINCT FROM $1::uuid
    AND NOT EXISTS (
        SELECT FROM dispute_referees r
        WHERE r.dispute_id = d.dispute_id AND r.player_id = $1::uuid
    )
ORDER BY d.opened_at DESC, d.dispute_id DESC
LIMIT $2::bigint

-- keep_invitation: store that the host of a table invites a player.
-- $1 table, $2 player, $3 time, $4 maximum number of open invitations of the host
SELECT keep_invitation($1::uuid, $2::uuid, $3::timestamptz, $4::integer)

-- end_invitation: withdraw an invitation to a table, or decline it.
-- $1 table, $2 player, $3 time at which the player declined, null: the host withdraws it
SELECT end_invitation($1::uuid, $2::uuid, $3::timestamptz)

-- invitations_of: the open invitations of a player; only those that the player may see.
--
-- The newest of each host first, then the next of each: one host cannot push out those of others.
-- Those of challenges are listed as challenges.
-- $1 player, $2 table or null, $3 row limit, $4 number of rows before
SELECT table_id, player, at, host, version, ruleset_id, public
FROM open_invitations
WHERE player = $1::uuid AND CASE
    WHEN $2::uuid IS NULL THEN table_id NOT IN (
        SELECT c.table_id FROM challenges c WHERE c.player = $1::uuid
    )
    ELSE table_id = $2::uuid
END
ORDER BY row_number() OVER (PARTITION BY host ORDER BY at DESC, table_id), at DESC, table_id
LIMIT $3::bigint OFFSET $4::bigint

-- invitations_to: the invitations to a table that its host has sent, newest first.
-- $1 table
SELECT player, at, declined_at FROM invitations WHERE table_id = $1::uuid ORDER BY at DESC, player

-- concerned_players: the players whom games, tables and disputes concern; a row for each player.
--
-- Of a game its players and the host, of a table those who sit there now, the host and the invited, of
-- a dispute its sides and referees.
-- $1 ids
SELECT s.game_id AS id, 'game' AS kind, s.player_id
FROM game_seats s
WHERE s.game_id = ANY ($1::uuid[]) AND s.player_id IS NOT NULL
UNION
SELECT g.game_id, 'game', t.host
FROM games g
JOIN tables t ON t.table_id = g.table_id
WHERE g.game_id = ANY ($1::uuid[])
UNION
SELECT s.table_id, 'table', s.player_id
FROM table_seats s
WHERE s.table_id = ANY ($1::uuid[]) AND s.player_id IS NOT NULL
UNION
SELECT t.table_id, 'table', t.host
FROM tables t
WHERE t.table_id = ANY ($1::uuid[])
UNION
SELECT i.table_id, 'table', i.player
FROM invitations i
WHERE i.table_id = ANY ($1::uuid[])
UNION
SELECT d.dispute_id, 'dispute', p.player_id
FROM disputes d
CROSS JOIN LATERAL (
    SELECT d.accuser AS player_id
    UNION
    SELECT d.accused
    UNION
    SELECT d.partner
    UNION
    SELECT r.player_id FROM dispute_referees r WHERE r.dispute_id = d.dispute_id
) p
WHERE d.dispute_id = ANY ($1::uuid[]) AND p.player_id IS NOT NULL
