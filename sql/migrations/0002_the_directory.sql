-- The directory: what lists, pages and the sweeper ask for without folding a stream.
--
-- `games`, `game_seats`, `tables` and `table_seats` are summaries, written by the append that
-- changes them. People are named here and nowhere in a stream, so that they can be erased.

CREATE TABLE players (
    player_id      uuid         NOT NULL,
    name           text,                   -- null once erased
    token_hash     bytea,                  -- SHA-256; null once erased
    recovery_hash  bytea,                  -- SHA-256; null once erased
    created_at     timestamptz  NOT NULL,
    erased_at      timestamptz,
    CONSTRAINT players_pkey PRIMARY KEY (player_id),
    CONSTRAINT players_token_unique UNIQUE (token_hash),
    CONSTRAINT players_recovery_unique UNIQUE (recovery_hash),
    CONSTRAINT players_erased_whole CHECK (
        (erased_at IS NULL AND num_nulls(name, token_hash, recovery_hash) = 0)
        OR (erased_at IS NOT NULL AND num_nonnulls(name, token_hash, recovery_hash) = 0)
    )
);

CREATE TABLE games (
    game_id     uuid         NOT NULL,
    table_id    uuid         NOT NULL,
    hand        integer      NOT NULL,
    ruleset_id  text         NOT NULL,
    status      text         NOT NULL,
    version     integer      NOT NULL,
    turn        integer,                -- seat; null where nobody alone is on turn
    dealer      integer,                -- seat; null while it is not drawn
    created_at  timestamptz  NOT NULL,
    ended_at    timestamptz,
    reason      text,                   -- of game_ended, or the cause of game_aborted
    shithead    integer,                -- seat
    places      jsonb,                  -- seats in the order in which they went out
    public      boolean      NOT NULL,
    wake_kind   text,                   -- what the sweeper has to do: bot, stand_in, time_out, entropy, …
    wake_at     timestamptz,            -- and when
    wake_seat   integer,                -- and for whom
    back        jsonb,                  -- seats whose players came back while a bot stood in
    CONSTRAINT games_pkey PRIMARY KEY (game_id),
    CONSTRAINT games_status_known CHECK (
        status IN ('shuffling', 'swapping', 'playing', 'ended', 'aborted')
    )
) WITH (fillfactor = 70);
CREATE INDEX games_by_age ON games (created_at DESC, game_id DESC);
CREATE INDEX games_by_table ON games (table_id, created_at DESC, game_id DESC);
CREATE INDEX games_due ON games (wake_at) WHERE wake_at IS NOT NULL;

CREATE TABLE game_seats (
    game_id    uuid     NOT NULL,
    seat       integer  NOT NULL,
    kind       text     NOT NULL,  -- human, bot
    bot        text,               -- its name
    player_id  uuid,               -- stays when the player is erased
    CONSTRAINT game_seats_pkey PRIMARY KEY (game_id, seat)
);
CREATE INDEX game_seats_by_player ON game_seats (player_id) WHERE player_id IS NOT NULL;

CREATE TABLE tables (
    table_id     uuid         NOT NULL,
    host         uuid         NOT NULL,  -- player
    version      integer      NOT NULL,
    status       text         NOT NULL,
    public       boolean      NOT NULL,
    ruleset_id   text         NOT NULL,
    invite_hash  bytea,                  -- SHA-256 of the invite of a private table
    created_at   timestamptz  NOT NULL,
    hand         integer      NOT NULL DEFAULT 0,  -- the last hand dealt
    game_id      uuid,                   -- the hand being played
    CONSTRAINT tables_pkey PRIMARY KEY (table_id),
    CONSTRAINT tables_status_known CHECK (status IN ('open', 'between', 'playing', 'closed'))
) WITH (fillfactor = 70);
CREATE INDEX tables_by_age ON tables (created_at DESC, table_id DESC);
CREATE INDEX tables_by_host ON tables (host);

CREATE TABLE table_seats (
    table_id   uuid     NOT NULL,
    seat       integer  NOT NULL,
    kind       text     NOT NULL,  -- human, bot, open
    bot        text,
    player_id  uuid,
    CONSTRAINT table_seats_pkey PRIMARY KEY (table_id, seat)
);
CREATE INDEX table_seats_by_player ON table_seats (player_id) WHERE player_id IS NOT NULL;

-- Moves that were refused, encrypted by the service: an attempt tells what is in a hand.
CREATE TABLE refusals (
    game_id     uuid         NOT NULL,
    refusal_id  uuid         NOT NULL DEFAULT gen_random_uuid(),
    at          timestamptz  NOT NULL,
    seat        integer      NOT NULL,
    key_id      text         NOT NULL,
    sealed      bytea        NOT NULL,
    CONSTRAINT refusals_pkey PRIMARY KEY (game_id, refusal_id)
);

-- Who read something not public about a game that was not theirs to know.
CREATE TABLE readings (
    game_id     uuid         NOT NULL,
    reading_id  uuid         NOT NULL DEFAULT gen_random_uuid(),
    at          timestamptz  NOT NULL,
    reader      uuid         NOT NULL,  -- player
    what        text         NOT NULL,
    CONSTRAINT readings_pkey PRIMARY KEY (game_id, reading_id)
);

-- Rulesets of the players' own; the id is the hash of the settings, so a row never changes.
CREATE TABLE rulesets_custom (
    ruleset_id  text         NOT NULL,
    name        text         NOT NULL,
    owner       uuid         NOT NULL,  -- player
    document    text         NOT NULL,  -- JSON
    created_at  timestamptz  NOT NULL,
    CONSTRAINT rulesets_custom_pkey PRIMARY KEY (ruleset_id)
);
CREATE INDEX rulesets_custom_by_owner ON rulesets_custom (owner);

-- A game with its seats and the names of those who sit there.
CREATE VIEW game_rows AS
SELECT
    g.*,
    (
        SELECT jsonb_agg(
            jsonb_build_object(
                'seat', s.seat, 'kind', s.kind, 'bot', s.bot,
                'player', s.player_id, 'name', p.name
            ) ORDER BY s.seat
        )
        FROM game_seats s
        LEFT JOIN players p ON p.player_id = s.player_id
        WHERE s.game_id = g.game_id
    ) AS seats
FROM games g;

-- A table with its seats and the names of those who sit there.
CREATE VIEW table_rows AS
SELECT
    t.*,
    (
        SELECT jsonb_agg(
            jsonb_build_object(
                'seat', s.seat, 'kind', s.kind, 'bot', s.bot,
                'player', s.player_id, 'name', p.name
            ) ORDER BY s.seat
        )
        FROM table_seats s
        LEFT JOIN players p ON p.player_id = s.player_id
        WHERE s.table_id = t.table_id
    ) AS seats
FROM tables t;
