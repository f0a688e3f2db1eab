-- Players whom a player does not want to be seated with by an invitation or a seek.
CREATE TABLE blocks (
    player   uuid         NOT NULL,
    blocked  uuid         NOT NULL,
    at       timestamptz  NOT NULL,
    CONSTRAINT blocks_pkey PRIMARY KEY (player, blocked),
    CONSTRAINT blocks_name_another CHECK (player <> blocked)
);
CREATE INDEX blocks_by_blocked ON blocks (blocked);
