-- Invitations of players to tables by their hosts: outside the streams, deleted when they end.
CREATE TABLE invitations (
    table_id     uuid         NOT NULL,
    player       uuid         NOT NULL,
    at           timestamptz  NOT NULL,
    declined_at  timestamptz,
    CONSTRAINT invitations_pkey PRIMARY KEY (table_id, player)
);
CREATE INDEX invitations_by_player ON invitations (player);

-- Those that their player may see: nobody at the table and the player block one another.
CREATE VIEW open_invitations AS
SELECT i.table_id, i.player, i.at, t.host, t.version, t.ruleset_id, t.public
FROM invitations i
JOIN tables t ON t.table_id = i.table_id
WHERE i.declined_at IS NULL
    AND t.status <> 'closed'
    AND NOT EXISTS (
        SELECT FROM blocks b
        WHERE (
            b.player = i.player AND (
                b.blocked = t.host
                OR b.blocked IN (SELECT s.player_id FROM table_seats s WHERE s.table_id = i.table_id)
            )
        ) OR (
            b.blocked = i.player AND (
                b.player = t.host
                OR b.player IN (SELECT s.player_id FROM table_seats s WHERE s.table_id = i.table_id)
            )
        )
    );
