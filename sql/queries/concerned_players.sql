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
    SELECT r.player_id FROM dispute_referees r WHERE r.dispute_id = d.dispute_id
) p
WHERE d.dispute_id = ANY ($1::uuid[]) AND p.player_id IS NOT NULL
