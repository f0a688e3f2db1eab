-- Disputes: one running dispute a move and charge, rulings against the server, votes that the
-- server seals for referees.
ALTER TABLE disputes ADD COLUMN move integer;    -- first event of the move; null in older rows
ALTER TABLE disputes ADD COLUMN proven boolean;  -- the ruling that stands is against the server
CREATE UNIQUE INDEX disputes_one_running ON disputes (game_id, move, charge) WHERE state <> 'final';

-- Votes that the server sealed, encrypted by the service; deleted with the ruling.
CREATE TABLE dispute_votes (
    dispute_id  uuid     NOT NULL,
    referee     integer  NOT NULL,  -- number within the dispute
    key_id      text     NOT NULL,
    sealed      bytea    NOT NULL,
    CONSTRAINT dispute_votes_pkey PRIMARY KEY (dispute_id, referee)
);
