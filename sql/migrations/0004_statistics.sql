-- Facts about games that are over, taken from their logs once; statistics are made of them.
--
-- Derived, and made again from the logs should they be lost. A row is written together with the
-- end of the outbox row that asked for it, so no game is counted twice or forgotten.

CREATE TABLE shuffled_decks (
    game_id     uuid         NOT NULL,
    ruleset_id  text         NOT NULL,
    aborted     boolean      NOT NULL,
    deck        text         NOT NULL,  -- codes in order, with a space between
    dealt       integer      NOT NULL,  -- cards that left the deck in the deal
    to_people   jsonb        NOT NULL,  -- positions dealt to seats of people
    ended_at    timestamptz  NOT NULL,
    CONSTRAINT shuffled_decks_pkey PRIMARY KEY (game_id)
);
CREATE INDEX shuffled_decks_by_age ON shuffled_decks (ended_at, game_id);

CREATE TABLE blind_choices (
    game_id    uuid         NOT NULL,
    seq        integer      NOT NULL,
    player_id  uuid         NOT NULL,
    slots      integer      NOT NULL,  -- face-down cards to choose from
    playable   integer      NOT NULL,  -- of these, cards that fitted
    fitted     boolean      NOT NULL,  -- whether the one chosen did
    ended_at   timestamptz  NOT NULL,
    CONSTRAINT blind_choices_pkey PRIMARY KEY (game_id, seq)
);
CREATE INDEX blind_choices_by_player ON blind_choices (player_id, ended_at, game_id, seq);
