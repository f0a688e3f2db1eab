-- Disputes: summaries of their streams, and what is kept beside them.
--
-- Words and names stay out of the streams, so that they can be erased; what a stream says of
-- them are commitments. The frozen evidence is the public bundle: it holds no secret.

CREATE TABLE disputes (
    dispute_id  uuid         NOT NULL,
    game_id     uuid         NOT NULL,
    version     integer      NOT NULL,
    state       text         NOT NULL,
    accuser     uuid         NOT NULL,            -- player
    accused     uuid,                             -- player; null for a bot
    charge      text         NOT NULL,
    verdict     text,                             -- of the ruling that stands
    opened_at   timestamptz  NOT NULL,
    found_at    integer      NOT NULL DEFAULT 0,  -- the game's version the findings are about
    wake_at     timestamptz,                      -- when silence leads to something
    CONSTRAINT disputes_pkey PRIMARY KEY (dispute_id),
    CONSTRAINT disputes_state_known CHECK (
        state IN ('open', 'voting', 'revealing', 'ruled', 'appealed', 'final')
    ),
    CONSTRAINT disputes_verdict_known CHECK (verdict IN ('cad', 'cleared'))
) WITH (fillfactor = 70);
CREATE INDEX disputes_by_game ON disputes (game_id, opened_at DESC, dispute_id DESC);
CREATE INDEX disputes_by_accuser ON disputes (accuser);
CREATE INDEX disputes_by_accused ON disputes (accused);
CREATE INDEX disputes_running ON disputes (wake_at) WHERE state <> 'final';

CREATE TABLE dispute_referees (
    dispute_id  uuid     NOT NULL,
    referee     integer  NOT NULL,  -- number within the dispute
    player_id   uuid     NOT NULL,
    recused     boolean  NOT NULL,
    CONSTRAINT dispute_referees_pkey PRIMARY KEY (dispute_id, referee)
);
CREATE INDEX dispute_referees_by_player ON dispute_referees (player_id);

-- What the sides say. Words and salt go when their author is erased.
CREATE TABLE dispute_texts (
    dispute_id  uuid     NOT NULL,
    seq         integer  NOT NULL,  -- the event with the commitment
    author      uuid     NOT NULL,  -- player
    salt        bytea,
    words       text,
    CONSTRAINT dispute_texts_pkey PRIMARY KEY (dispute_id, seq)
);
CREATE INDEX dispute_texts_by_author ON dispute_texts (author);

-- The evidence as it was when the dispute was opened; its SHA-256 stands in the stream.
CREATE TABLE dispute_bundles (
    dispute_id  uuid   NOT NULL,
    bundle      bytea  NOT NULL,
    CONSTRAINT dispute_bundles_pkey PRIMARY KEY (dispute_id)
);

-- What the machine found, encrypted by the service.
CREATE TABLE dispute_findings (
    dispute_id  uuid     NOT NULL,
    found_at    integer  NOT NULL,  -- the game's version
    key_id      text     NOT NULL,
    sealed      bytea    NOT NULL,
    CONSTRAINT dispute_findings_pkey PRIMARY KEY (dispute_id, found_at)
);
