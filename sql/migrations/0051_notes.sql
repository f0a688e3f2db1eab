-- Notes of players on events: outside the record, hashed nowhere, and never evidence.
CREATE TABLE notes (
    game_id     uuid         NOT NULL,
    author      uuid         NOT NULL,
    seq         integer      NOT NULL,  -- of the event
    words       text         NOT NULL,
    visibility  text         NOT NULL,
    at          timestamptz  NOT NULL,
    CONSTRAINT notes_pkey PRIMARY KEY (game_id, author, seq),
    CONSTRAINT notes_have_a_visibility CHECK (visibility IN ('me', 'dispute'))
);
CREATE INDEX notes_by_author ON notes (author);
