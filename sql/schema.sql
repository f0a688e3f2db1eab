-- The whole database schema of this release, as documentation.
--
-- Maintained by hand beside the migrations; a test creates one database from each and compares the
-- two. Databases are created and upgraded by the migrations only.
--
-- 1. Bookkeeping   2. The record   3. The directory   4. Functions   5. Privileges


-- applied_migrations: the migrations applied to this database.
CREATE TABLE applied_migrations (
    name        text         NOT NULL,  -- of the file, without its extension
    checksum    bytea        NOT NULL,  -- SHA-256 of the file
    applied_at  timestamptz  NOT NULL DEFAULT now(),
    CONSTRAINT applied_migrations_pkey PRIMARY KEY (name)
);

CREATE TABLE applied_files (
    name        text         NOT NULL,  -- of a file that is applied again when it changes
    checksum    bytea        NOT NULL,  -- SHA-256 of the file
    applied_at  timestamptz  NOT NULL DEFAULT now(),
    CONSTRAINT applied_files_pkey PRIMARY KEY (name)
);


-- The record: streams of events, data beside running games, and the outbox.
--
-- Every key starts with the stream's id. There are no sequences, and no foreign keys from one stream
-- to another. An append therefore touches only rows of its own streams, so streams can be
-- partitioned or distributed by id without a change of this schema.

CREATE TABLE streams (
    stream_id  uuid     NOT NULL,
    kind       text     NOT NULL,  -- StreamKind; only games are public
    version    integer  NOT NULL,  -- number of events; an append compares and sets it
    head       bytea    NOT NULL,  -- SHA-256(0x00 || last line)
    CONSTRAINT streams_pkey PRIMARY KEY (stream_id),
    CONSTRAINT streams_kind_known CHECK (kind IN ('game', 'table', 'dispute', 'access')),
    CONSTRAINT streams_version_positive CHECK (version > 0),
    CONSTRAINT streams_head_is_hash CHECK (octet_length(head) = 32)
) WITH (fillfactor = 70);  -- room for the version to change in place

CREATE TABLE events (
    stream_id  uuid     NOT NULL,
    seq        integer  NOT NULL,  -- from 0, without gaps
    line       bytea    NOT NULL,  -- canonical JSON, the exact bytes that are hashed; jsonb would change them
    CONSTRAINT events_pkey PRIMARY KEY (stream_id, seq),
    CONSTRAINT events_seq_from_zero CHECK (seq >= 0)
);

-- Archived streams: their events are in bundles outside the database. Only events of streams listed
-- here may be deleted.
CREATE TABLE archived (
    stream_id    uuid         NOT NULL,
    version      integer      NOT NULL,  -- of the whole stream
    head         bytea        NOT NULL,  -- of the whole stream
    bundle       bytea        NOT NULL,  -- SHA-256 of the bundle with its events
    archived_at  timestamptz  NOT NULL DEFAULT now(),
    CONSTRAINT archived_pkey PRIMARY KEY (stream_id),
    CONSTRAINT archived_bundle_is_hash CHECK (octet_length(bundle) = 32)
);

-- The server seeds of running games, encrypted by the service. A seed is deleted when its game is
-- sealed or aborted.
CREATE TABLE secrets (
    game_id     uuid   NOT NULL,
    key_id      text   NOT NULL,  -- of a key in the key file
    ciphertext  bytea  NOT NULL,  -- AES-256-GCM, the game id as associated data
    CONSTRAINT secrets_pkey PRIMARY KEY (game_id)
);

-- Answers to requests that carried an Idempotency-Key, encrypted by the service.
CREATE TABLE answers (
    caller       uuid         NOT NULL,
    request_key  bytea        NOT NULL,  -- SHA-256 over path and key
    body_hash    bytea        NOT NULL,  -- SHA-256 over the body
    sealed       bytea        NOT NULL,  -- the answer, encrypted
    created_at   timestamptz  NOT NULL DEFAULT now(),
    CONSTRAINT answers_pkey PRIMARY KEY (caller, request_key)
);
CREATE INDEX answers_by_age ON answers (created_at);

-- Outbox: tasks that follow a commit; the process that takes a task deletes its row.
CREATE TABLE outbox (
    stream_id   uuid         NOT NULL,
    version     integer      NOT NULL,  -- the stream's version after the commit
    topic       text         NOT NULL,  -- the receiver: game, log, statistics
    created_at  timestamptz  NOT NULL DEFAULT now(),
    CONSTRAINT outbox_pkey PRIMARY KEY (stream_id, version, topic)
);
CREATE INDEX outbox_by_age ON outbox (topic, created_at);

-- The events as JSON, for SQL sessions; derived from `line`, which is the record.
CREATE VIEW event_log AS
SELECT
    e.stream_id,
    e.seq,
    convert_from(e.line, 'UTF8')::jsonb AS event
FROM events e
JOIN streams s ON s.stream_id = e.stream_id
WHERE s.kind = 'game';


-- The directory: data for lists, pages and the sweeper, to be read without folding a stream.
--
-- `games`, `game_seats`, `tables` and `table_seats` are summaries, written by the append that
-- changes them. Names of players are stored here and in no stream, so that they can be erased.

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

CREATE INDEX players_erased ON players (erased_at) WHERE erased_at IS NOT NULL;

CREATE TABLE games (
    game_id     uuid         NOT NULL,
    table_id    uuid         NOT NULL,
    hand        integer      NOT NULL,
    ruleset_id  text         NOT NULL,
    status      text         NOT NULL,
    version     integer      NOT NULL,
    turn        integer,                -- seat; null if no single seat is on turn
    dealer      integer,                -- seat; null while it is not drawn
    created_at  timestamptz  NOT NULL,
    ended_at    timestamptz,
    reason      text,                   -- of game_ended, or the cause of game_aborted
    shithead    integer,                -- seat
    places      jsonb,                  -- seats in the order in which they went out
    public      boolean      NOT NULL,
    wake_kind   text,                   -- the next scheduled action: bot, time_out, entropy
    wake_at     timestamptz,            -- its time
    wake_seat   integer,                -- its seat; no longer used
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
    player_id  uuid,               -- also after the player was erased
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

-- Refused moves, encrypted by the service, because they name cards that the player may hold.
-- `arrival` numbers the attempts of a game; null in rows from before migration 0009.
CREATE TABLE refusals (
    game_id     uuid         NOT NULL,
    refusal_id  uuid         NOT NULL DEFAULT gen_random_uuid(),
    at          timestamptz  NOT NULL,
    seat        integer      NOT NULL,
    key_id      text         NOT NULL,
    sealed      bytea        NOT NULL,
    arrival     integer,
    CONSTRAINT refusals_pkey PRIMARY KEY (game_id, refusal_id)
);

-- Access log: reads of a game's private data by callers who do not own it.
CREATE TABLE readings (
    game_id     uuid         NOT NULL,
    reading_id  uuid         NOT NULL DEFAULT gen_random_uuid(),
    at          timestamptz  NOT NULL,
    reader      uuid,                   -- player; null for a caller with the invite and no token
    what        text         NOT NULL,
    version     integer,                -- of the game; null in rows from before migration 0008
    CONSTRAINT readings_pkey PRIMARY KEY (game_id, reading_id)
);
CREATE INDEX readings_by_time ON readings (game_id, at, reading_id);

-- Custom rulesets. The id is the hash of the settings, so a row never changes.
CREATE TABLE rulesets_custom (
    ruleset_id  text         NOT NULL,
    name        text         NOT NULL,
    owner       uuid         NOT NULL,  -- player
    document    text         NOT NULL,  -- JSON
    created_at  timestamptz  NOT NULL,
    CONSTRAINT rulesets_custom_pkey PRIMARY KEY (ruleset_id)
);
CREATE INDEX rulesets_custom_by_owner ON rulesets_custom (owner);

-- Games with their seats and the names of their players.
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

-- Tables with their seats and the names of their players.
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


-- Disputes: summaries of their streams, texts, votes and findings.
--
-- Texts and names are not in the streams, so that they can be erased; a stream has commitments to
-- the texts. The frozen evidence is the public bundle, which has no secret.

CREATE TABLE disputes (
    dispute_id  uuid         NOT NULL,
    game_id     uuid         NOT NULL,
    version     integer      NOT NULL,
    state       text         NOT NULL,
    accuser     uuid         NOT NULL,            -- player
    accused     uuid,                             -- player; null for a bot or the server
    charge      text         NOT NULL,
    verdict     text,                             -- of the newest ruling
    opened_at   timestamptz  NOT NULL,
    found_at    integer      NOT NULL DEFAULT 0,  -- version of the game at which the findings were made
    wake_at     timestamptz,                      -- end of the next period
    move        integer,                          -- first event of the move; null in older rows
    proven      boolean,                          -- the newest ruling is against the server
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
CREATE INDEX disputes_by_time ON disputes (opened_at DESC, dispute_id DESC);
CREATE UNIQUE INDEX disputes_one_running ON disputes (game_id, move, charge) WHERE state <> 'final';

CREATE TABLE dispute_referees (
    dispute_id  uuid     NOT NULL,
    referee     integer  NOT NULL,  -- number within the dispute
    player_id   uuid     NOT NULL,
    recused     boolean  NOT NULL,
    CONSTRAINT dispute_referees_pkey PRIMARY KEY (dispute_id, referee)
);
CREATE INDEX dispute_referees_by_player ON dispute_referees (player_id);

-- Statements of the sides. Text and salt are deleted when their author is erased.
CREATE TABLE dispute_texts (
    dispute_id  uuid     NOT NULL,
    seq         integer  NOT NULL,  -- the event with the commitment
    author      uuid     NOT NULL,  -- player
    salt        bytea,
    words       text,
    CONSTRAINT dispute_texts_pkey PRIMARY KEY (dispute_id, seq)
);
CREATE INDEX dispute_texts_by_author ON dispute_texts (author);

-- The evidence as of the opening of the dispute; its SHA-256 is in the stream.
CREATE TABLE dispute_bundles (
    dispute_id  uuid   NOT NULL,
    bundle      bytea  NOT NULL,
    CONSTRAINT dispute_bundles_pkey PRIMARY KEY (dispute_id)
);

-- Findings of the verifier, encrypted by the service.
CREATE TABLE dispute_findings (
    dispute_id  uuid     NOT NULL,
    found_at    integer  NOT NULL,  -- the game's version
    key_id      text     NOT NULL,
    sealed      bytea    NOT NULL,
    CONSTRAINT dispute_findings_pkey PRIMARY KEY (dispute_id, found_at)
);

-- Votes that the server sealed, encrypted by the service; deleted with the ruling.
CREATE TABLE dispute_votes (
    dispute_id  uuid     NOT NULL,
    referee     integer  NOT NULL,  -- number within the dispute
    key_id      text     NOT NULL,
    sealed      bytea    NOT NULL,
    CONSTRAINT dispute_votes_pkey PRIMARY KEY (dispute_id, referee)
);

-- Players who were never active: no seat, no table, no ruleset, no part in a dispute.
CREATE VIEW unused_players AS
SELECT p.player_id, p.created_at
FROM players p
WHERE p.erased_at IS NULL
    AND NOT EXISTS (SELECT FROM game_seats s WHERE s.player_id = p.player_id)
    AND NOT EXISTS (SELECT FROM table_seats s WHERE s.player_id = p.player_id)
    AND NOT EXISTS (SELECT FROM tables t WHERE t.host = p.player_id)
    AND NOT EXISTS (SELECT FROM rulesets_custom r WHERE r.owner = p.player_id)
    AND NOT EXISTS (SELECT FROM disputes d WHERE d.accuser = p.player_id)
    AND NOT EXISTS (SELECT FROM dispute_referees r WHERE r.player_id = p.player_id);


-- Data for statistics, taken once from the logs of finished games.
--
-- They can be computed again from the logs. A row is inserted in the transaction that deletes the
-- outbox row that requested it, so no game is counted twice or left out.

CREATE TABLE shuffled_decks (
    game_id     uuid         NOT NULL,
    ruleset_id  text         NOT NULL,
    aborted     boolean      NOT NULL,
    deck        text         NOT NULL,  -- codes in order, with a space between
    dealt       integer      NOT NULL,  -- cards that left the deck in the deal
    to_people   jsonb        NOT NULL,  -- positions dealt to seats of players
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
    fitted     boolean      NOT NULL,  -- whether the chosen card fitted
    ended_at   timestamptz  NOT NULL,
    CONSTRAINT blind_choices_pkey PRIMARY KEY (game_id, seq)
);
CREATE INDEX blind_choices_by_player ON blind_choices (player_id, ended_at, game_id, seq);


-- The public log: one Merkle tree over all games, its tiles, heads and signatures.
--
-- There is one writer at a time, and leaves are only added, so a head always matches the first
-- `size` leaves. A head is inserted with its newest leaves and signed afterwards, so that no tree is
-- signed that is not stored.

CREATE TABLE log_leaves (
    leaf_index  bigint       NOT NULL,  -- from 0, without gaps
    game_id     uuid         NOT NULL,
    version     integer      NOT NULL,  -- of the game; its head at this version is in the leaf
    data        bytea        NOT NULL,  -- the body of a receipt
    added_at    timestamptz  NOT NULL,
    CONSTRAINT log_leaves_pkey PRIMARY KEY (leaf_index),
    CONSTRAINT log_leaves_once UNIQUE (game_id, version),
    CONSTRAINT log_leaves_fit_a_bundle CHECK (octet_length(data) < 65536)
);

-- The hashes in tiles: at level 0 those of the leaves, above it one for each full tile below.
CREATE TABLE log_hashes (
    level     integer  NOT NULL,
    position  bigint   NOT NULL,  -- within the level, from 0
    hash      bytea    NOT NULL,
    CONSTRAINT log_hashes_pkey PRIMARY KEY (level, position),
    CONSTRAINT log_hashes_is_hash CHECK (octet_length(hash) = 32)
);

-- The tree after each batch. `note` is null until it is signed; the newest signed head is served.
CREATE TABLE log_heads (
    size     bigint       NOT NULL,
    root     bytea        NOT NULL,
    made_at  timestamptz  NOT NULL,
    note     bytea,                  -- the checkpoint, signed by the log
    CONSTRAINT log_heads_pkey PRIMARY KEY (size),
    CONSTRAINT log_heads_is_hash CHECK (octet_length(root) = 32),
    CONSTRAINT log_heads_note_is_of_this_tree CHECK (
        note IS NULL OR (
            split_part(convert_from(note, 'UTF8'), E'\n', 2) = size::text
            AND split_part(convert_from(note, 'UTF8'), E'\n', 3) = encode(root, 'base64')
            AND split_part(convert_from(note, 'UTF8'), E'\n', 4) = ''
        )
    )
);
CREATE INDEX log_heads_signed ON log_heads (size) WHERE note IS NOT NULL;

-- Cosignatures of checkpoints by witnesses. They are never deleted, because they are evidence if the
-- log ever shows different trees to different readers.
CREATE TABLE log_cosignatures (
    size     bigint       NOT NULL,
    witness  text         NOT NULL,  -- its key: name+id+key
    line     text         NOT NULL,  -- the signature line
    added_at timestamptz  NOT NULL DEFAULT now(),
    CONSTRAINT log_cosignatures_pkey PRIMARY KEY (size, witness)
);
CREATE INDEX log_cosignatures_by_witness ON log_cosignatures (witness, size DESC);

-- Running games, which may need further leaves.
CREATE INDEX games_running ON games (game_id) WHERE status IN ('shuffling', 'swapping', 'playing');

-- The tree before the first leaf.
INSERT INTO log_heads (size, root, made_at) VALUES (0, sha256(''), now());


-- The trail: actions of operators with `shithead admin`. Rows are only added.
--
-- Players appear here by id only, so an erasure in `players` covers these rows too.

CREATE TABLE trail (
    entry_id  uuid         NOT NULL DEFAULT gen_random_uuid(),
    at        timestamptz  NOT NULL,
    operator  text         NOT NULL,  -- the system user, or the value of --as
    act       text         NOT NULL,  -- the command: rename, abort, archive, …
    target    uuid,                   -- the player, table or game; null if there is none
    outcome   text         NOT NULL,  -- done, or why it was refused
    CONSTRAINT trail_pkey PRIMARY KEY (entry_id),
    CONSTRAINT trail_says_who CHECK (operator <> '')
);
CREATE INDEX trail_by_age ON trail (at DESC, entry_id DESC);

-- Refused moves are deleted by age.
CREATE INDEX refusals_by_age ON refusals (at);


-- append_events: write all changes of one command in one transaction; the only way to add events.
--
-- `expected` is the version at which the caller decided. SH409 if a stream has moved on (DETAIL:
-- the stream and its version): the caller reads and decides again. SH410 if the request has been
-- answered meanwhile, SH429 if a quota is reached, SH401 if a player was erased, SH400 for a wrong
-- head or kind of stream.
--
-- An unknown or expired token is refused first (SH403). The answer is written before the events, so
-- a repeated request gets SH410, never SH409 or SH429 because of its own first execution. Streams
-- are locked in the order of their ids, which prevents deadlocks.
--
-- One jsonb argument costs less than arrays. No NOTIFY: it takes a database-wide lock at commit.
--
--   {"token": absent, null or the hash of a bearer token that must be valid,
--    "answer": null or {caller, key, body, sealed}, "appends": [see append_stream],
--    "secret": null or {game, key, ciphertext}, "forget": null or game,
--    "refused": null or how many refused attempts a seal of version 2 names,
--    "outbox": [{stream, version, topic}],
--    "quotas": absent or [see refuse_over_quota]}    bytes in base64
CREATE OR REPLACE FUNCTION append_events(command jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    answer  jsonb := nullif(command -> 'answer', 'null');
    secret  jsonb := nullif(command -> 'secret', 'null');
    append  jsonb;
BEGIN
    IF command ->> 'token' IS NOT NULL AND NOT EXISTS (
        SELECT FROM players p WHERE p.token_hash = decode(command ->> 'token', 'base64')
    ) THEN
        RAISE EXCEPTION 'the token is unknown or has expired' USING ERRCODE = 'SH403';
    END IF;

    IF answer IS NOT NULL THEN
        PERFORM keep_answer(answer);
    END IF;

    IF jsonb_array_length(command -> 'quotas') > 0 THEN
        PERFORM refuse_over_quota(command -> 'quotas');
    END IF;

    FOR append IN
        SELECT a.value
        FROM jsonb_array_elements(command -> 'appends') a
        ORDER BY (a.value ->> 'stream')::uuid
    LOOP
        PERFORM append_stream(append);
    END LOOP;

    IF secret IS NOT NULL THEN
        INSERT INTO secrets (game_id, key_id, ciphertext)
        VALUES (
            (secret ->> 'game')::uuid,
            secret ->> 'key',
            decode(secret ->> 'ciphertext', 'base64')
        );
    END IF;

    IF command ->> 'forget' IS NOT NULL THEN
        PERFORM check_refusals(command);
        DELETE FROM secrets WHERE game_id = (command ->> 'forget')::uuid;
    END IF;

    IF jsonb_array_length(command -> 'outbox') > 0 THEN
        INSERT INTO outbox (stream_id, version, topic)
        SELECT (o.value ->> 'stream')::uuid, (o.value ->> 'version')::integer, o.value ->> 'topic'
        FROM jsonb_array_elements(command -> 'outbox') o;
    END IF;
END
$$;

-- try_append_events: append_events, with its ordinary refusals returned instead of raised.
--
-- Returns null after a commit; else {"refused": SH409 (a stream moved on), SH410 (the request has
-- been answered), SH403 (the token has expired) or SH401 (a player was erased), "detail": as
-- raised, "lines": for SH409 of a game its events since the expected version}, with nothing
-- written. PostgreSQL would log a raised error, but concurrent moves are no error. With the lines
-- the caller can decide again without a read.
--
-- An ordinary move, one append to a game that goes on, takes the shorter path of append_move; the
-- service of this release calls append_game_move for it.
CREATE OR REPLACE FUNCTION try_append_events(command jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    append      jsonb := command -> 'appends' -> 0;
    summary     jsonb := append -> 'summary';
    its_detail  text;
BEGIN
    IF jsonb_array_length(command -> 'appends') = 1
        AND jsonb_array_length(command -> 'outbox') = 1
        AND append ->> 'kind' = 'game'
        AND (append ->> 'expected')::integer > 0
        AND summary ?& ARRAY['status', 'turn', 'dealer', 'wake_kind', 'wake_at', 'ended_at', 'reason']
        AND NOT summary ?| ARRAY['seats', 'table_id', 'back', 'wake_seat']
        AND summary ->> 'ended_at' IS NULL
        AND summary ->> 'reason' IS NULL
        AND command ->> 'secret' IS NULL
        AND command ->> 'forget' IS NULL
        AND coalesce(jsonb_array_length(nullif(command -> 'quotas', 'null')), 0) = 0
    THEN
        RETURN append_move(command);
    END IF;

    BEGIN
        PERFORM append_events(command);
        RETURN NULL;
    EXCEPTION
        WHEN SQLSTATE 'SH409' OR SQLSTATE 'SH410' OR SQLSTATE 'SH403' OR SQLSTATE 'SH401' THEN
            GET STACKED DIAGNOSTICS its_detail = PG_EXCEPTION_DETAIL;
            RETURN jsonb_build_object(
                'refused', SQLSTATE,
                'detail', nullif(its_detail, '')::jsonb,
                'lines', (
                    SELECT jsonb_agg(convert_from(e.line, 'UTF8') ORDER BY e.seq)
                    FROM jsonb_array_elements(command -> 'appends') a
                    JOIN events e
                        ON e.stream_id = (a.value ->> 'stream')::uuid
                        AND e.seq >= (a.value ->> 'expected')::integer
                    WHERE
                        SQLSTATE = 'SH409'
                        AND a.value ->> 'kind' = 'game'
                        AND a.value ->> 'stream' = nullif(its_detail, '')::jsonb ->> 'stream'
                )
            );
    END;
END
$$;


-- append_game_move: append_events for an ordinary move, which is one append to a game that goes on.
--
-- Returns the same as try_append_events. Its arguments are the parts of the command, because a jsonb
-- costs the service and the database more. One body without a subtransaction: nested functions and exception handlers
-- cost as much as the writes. Refusals are found before anything is written, except SH409: the answer
-- was inserted first (for the reason in append_events), and is deleted again.
--
--   token       hash of the bearer token that must still be valid; null: not checked
--   stream      the game
--   expected    its version before the move
--   lines       the new events, separated by line feeds, which canonical JSON does not contain
--   new_head    the head after the last of them
--   summary     the columns of the game's row that a move sets
--   topic       the receiver of the outbox row
--   its_caller  caller, key, body hash and content of the answer to store; null: none
CREATE OR REPLACE FUNCTION append_game_move(
    token bytea, stream uuid, expected integer, lines text, new_head bytea, summary jsonb,
    topic text, its_caller uuid, its_key bytea, its_body bytea, its_content bytea
) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    each_line   text[]   := string_to_array(lines, E'\n');
    reached     integer  := expected + cardinality(each_line);
    present     integer;
BEGIN
    IF token IS NOT NULL AND NOT EXISTS (SELECT FROM players p WHERE p.token_hash = token) THEN
        RETURN '{"refused": "SH403", "detail": null, "lines": null}';
    END IF;

    IF its_caller IS NOT NULL THEN
        -- Waits for a repetition of the request that runs at the same time.
        INSERT INTO answers (caller, request_key, body_hash, sealed)
        VALUES (its_caller, its_key, its_body, its_content)
        ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN
            RETURN '{"refused": "SH410", "detail": null, "lines": null}';
        END IF;
    END IF;

    IF new_head IS DISTINCT FROM
        sha256('\x00'::bytea || convert_to(each_line[cardinality(each_line)], 'UTF8'))
    THEN
        RAISE EXCEPTION 'the head of stream % is not the hash of its last event', stream
            USING ERRCODE = 'SH400';
    END IF;

    UPDATE streams s SET version = reached, head = new_head
    WHERE s.stream_id = stream AND s.version = expected AND s.kind = 'game';
    IF NOT FOUND THEN
        present := coalesce((SELECT s.version FROM streams s WHERE s.stream_id = stream), 0);
        IF present = expected THEN
            PERFORM refuse_version(stream, expected);  -- of another kind
        END IF;
        DELETE FROM answers a WHERE a.caller = its_caller AND a.request_key = its_key;
        RETURN jsonb_build_object(
            'refused', 'SH409',
            'detail', jsonb_build_object('stream', stream, 'version', present),
            'lines', (
                SELECT jsonb_agg(convert_from(e.line, 'UTF8') ORDER BY e.seq)
                FROM events e
                WHERE e.stream_id = stream AND e.seq >= expected
            )
        );
    END IF;

    INSERT INTO events (stream_id, seq, line)
    SELECT stream, expected + l.ordinality::integer - 1, convert_to(l.line, 'UTF8')
    FROM unnest(each_line) WITH ORDINALITY l (line, ordinality);

    UPDATE games g SET
        version = reached,
        status = summary ->> 'status',
        turn = (summary ->> 'turn')::integer,
        dealer = (summary ->> 'dealer')::integer,
        wake_kind = summary ->> 'wake_kind',
        wake_at = (summary ->> 'wake_at')::timestamptz
    WHERE g.game_id = stream;

    INSERT INTO outbox (stream_id, version, topic) VALUES (stream, reached, append_game_move.topic);
    RETURN NULL;
END
$$;


-- append_move: append_game_move with the command of append_events, for processes of earlier releases.
CREATE OR REPLACE FUNCTION append_move(command jsonb) RETURNS jsonb
LANGUAGE sql SET search_path = public, pg_temp
AS $$
    SELECT append_game_move(
        decode(command ->> 'token', 'base64'),
        (append ->> 'stream')::uuid,
        (append ->> 'expected')::integer,
        (SELECT string_agg(l.value, E'\n' ORDER BY l.ordinality)
        FROM jsonb_array_elements_text(append -> 'lines') WITH ORDINALITY l),
        decode(append ->> 'head', 'base64'),
        append -> 'summary',
        command -> 'outbox' -> 0 ->> 'topic',
        (command -> 'answer' ->> 'caller')::uuid,
        decode(command -> 'answer' ->> 'key', 'base64'),
        decode(command -> 'answer' ->> 'body', 'base64'),
        decode(command -> 'answer' ->> 'sealed', 'base64')
    )
    FROM (SELECT command -> 'appends' -> 0 AS append) a
$$;


-- append_stream: compare the version of one stream, add its lines, update its summary row.
--
-- SH409 if the stream is at another version, SH400 for a wrong head or kind.
--
-- The lines are text in the argument and their UTF-8 bytes in the table. The head is computed
-- again here, so a receipt can never name bytes that are not stored.
--
--   {stream, kind, expected, head (base64), lines: [text, at least one], summary: null or {…}}
CREATE OR REPLACE FUNCTION append_stream(append jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    stream    uuid    := (append ->> 'stream')::uuid;
    expected  integer := (append ->> 'expected')::integer;
    reached   integer := expected + jsonb_array_length(append -> 'lines');
    new_head  bytea   := decode(append ->> 'head', 'base64');
BEGIN
    IF new_head IS DISTINCT FROM
        sha256('\x00'::bytea || convert_to(append -> 'lines' ->> -1, 'UTF8'))
    THEN
        RAISE EXCEPTION 'the head of stream % is not the hash of its last event', stream
            USING ERRCODE = 'SH400';
    END IF;

    IF expected = 0 THEN
        PERFORM open_stream(stream, append ->> 'kind', reached, new_head);
    ELSE
        UPDATE streams SET version = reached, head = new_head
        WHERE stream_id = stream AND version = expected AND kind = append ->> 'kind';
        IF NOT FOUND THEN
            PERFORM refuse_version(stream, expected);
        END IF;
    END IF;

    INSERT INTO events (stream_id, seq, line)
    SELECT stream, expected + l.ordinality::integer - 1, convert_to(l.value, 'UTF8')
    FROM jsonb_array_elements_text(append -> 'lines') WITH ORDINALITY l;

    CASE append ->> 'kind'
        WHEN 'game' THEN
            PERFORM summarise_game(stream, reached, nullif(append -> 'summary', 'null'));
        WHEN 'table' THEN
            PERFORM summarise_table(stream, reached, nullif(append -> 'summary', 'null'));
        WHEN 'dispute' THEN
            PERFORM summarise_dispute(stream, reached, nullif(append -> 'summary', 'null'));
        ELSE
            NULL;  -- other kinds have no summary
    END CASE;
END
$$;


-- archive_stream: delete the events of a sealed or aborted game, and keep its head.
--
-- Only the owner of the database may call it. `bundle_hash` is the SHA-256 of the bundle that
-- replaces the events and the refused moves. Returns the number of events deleted. SH425 while the
-- stream has outbox rows, because their receivers read its events. SH400 for an unknown stream,
-- SH403 for a stream of another kind or a game that is not over.
CREATE OR REPLACE FUNCTION archive_stream(stream uuid, bundle_hash bytea) RETURNS integer
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    removed  integer;
BEGIN
    INSERT INTO archived (stream_id, version, head, bundle)
    SELECT s.stream_id, s.version, s.head, bundle_hash
    FROM streams s
    WHERE s.stream_id = stream
    FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no stream %', stream USING ERRCODE = 'SH400';
    END IF;
    IF EXISTS (SELECT FROM outbox o WHERE o.stream_id = stream) THEN
        RAISE EXCEPTION 'stream % has outbox rows still to be processed', stream
            USING ERRCODE = 'SH425';
    END IF;
    DELETE FROM events e WHERE e.stream_id = stream;
    GET DIAGNOSTICS removed = ROW_COUNT;
    DELETE FROM refusals r WHERE r.game_id = stream;
    RETURN removed;
END
$$;


-- check_archived: trigger that refuses a row of `archived` unless it matches a game that is over.
CREATE OR REPLACE FUNCTION check_archived() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    last_type  text := (
        SELECT convert_from(e.line, 'UTF8')::jsonb ->> 'type'
        FROM events e
        WHERE e.stream_id = NEW.stream_id AND e.seq = NEW.version - 1
    );
BEGIN
    IF coalesce(last_type, '') NOT IN ('game_sealed', 'game_aborted') OR NOT EXISTS (
        SELECT FROM streams s
        WHERE s.stream_id = NEW.stream_id AND s.version = NEW.version AND s.head = NEW.head
            AND s.kind = 'game'
    ) THEN
        RAISE EXCEPTION 'stream % is no sealed game at version %', NEW.stream_id, NEW.version
            USING ERRCODE = 'SH403';
    END IF;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER archived_is_true BEFORE INSERT ON archived
    FOR EACH ROW EXECUTE FUNCTION check_archived();
ALTER TABLE archived ENABLE ALWAYS TRIGGER archived_is_true;


-- check_refusals: refuse a seal of version 2 unless it names the number of recorded attempts.
--
-- Called by append_events, which holds the row lock of the stream, so no attempt is added until it
-- has committed. `refused` is the number of attempts in the seal. SH409 if another number is
-- stored: the caller reads and decides again. SH400 if a release that knows only version 1 would
-- end the game without that number.
CREATE OR REPLACE FUNCTION check_refusals(command jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    game      uuid    := (command ->> 'forget')::uuid;
    counted   integer := (command ->> 'refused')::integer;
    second    boolean := (
        SELECT right(convert_from(e.line, 'UTF8'), 7) = ',"v":2}'  -- canonical: `v` is last
        FROM events e
        WHERE e.stream_id = game AND e.seq = 0
    );
    recorded  integer;
BEGIN
    IF second IS NOT TRUE THEN
        RETURN;
    END IF;
    IF counted IS NULL THEN
        RAISE EXCEPTION 'the seal of game % has to name its refused attempts', game
            USING ERRCODE = 'SH400';
    END IF;
    recorded := (SELECT count(*) FROM refusals r WHERE r.game_id = game);
    IF recorded <> counted THEN
        RAISE EXCEPTION 'game % has % refused attempts recorded, not %', game, recorded, counted
            USING
                ERRCODE = 'SH409',
                DETAIL = (
                    SELECT jsonb_build_object('stream', game, 'version', a.value -> 'expected')::text
                    FROM jsonb_array_elements(command -> 'appends') a
                    WHERE (a.value ->> 'stream')::uuid = game
                );
    END IF;
END
$$;


-- claim_outbox: delete and return the oldest rows of a topic; two relays never get the same row.
CREATE OR REPLACE FUNCTION claim_outbox(wanted text, most integer, before timestamptz)
RETURNS TABLE (stream_id uuid, version integer)
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    -- Materialized: as the inner side of a nested loop it would run, and lock, again for each row.
    WITH taken AS MATERIALIZED (
        SELECT c.stream_id, c.version, c.topic
        FROM outbox c
        WHERE c.topic = wanted AND c.created_at < before
        ORDER BY c.created_at
        LIMIT most
        FOR UPDATE SKIP LOCKED
    )
    DELETE FROM outbox o
    USING taken
    WHERE (o.stream_id, o.version, o.topic) = (taken.stream_id, taken.version, taken.topic)
    RETURNING o.stream_id, o.version
$$;


-- come_back: store the seats that players took back from stand-in bots, and the game's next action.
--
-- `seats` replaces the stored seats. Not an event, because the game does not change. No effect if the
-- game has moved on from version `seen`; returns whether it took effect.
CREATE OR REPLACE FUNCTION come_back(
    game uuid, seen integer, seats jsonb, next_kind text, next_at timestamptz
) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH done AS (
        UPDATE games g SET back = seats, wake_kind = next_kind, wake_at = next_at
        WHERE g.game_id = game AND g.version = seen
        RETURNING 1
    )
    SELECT EXISTS (SELECT FROM done)
$$;

-- put_off: set the next action and time of a game whose due action had no effect.
--
-- This happens at a first-come opening if no bot may open. Not an event, because the game does not
-- change. No effect if the game has moved on from version `seen`. Returns whether it took effect.
CREATE OR REPLACE FUNCTION put_off(
    game uuid, seen integer, next_kind text, next_at timestamptz
) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH done AS (
        UPDATE games g SET wake_kind = next_kind, wake_at = next_at
        WHERE g.game_id = game AND g.version = seen
        RETURNING 1
    )
    SELECT EXISTS (SELECT FROM done)
$$;


-- put_off_dispute: set the time of the next check of a dispute in which nothing was due.
--
-- A row can name too early a time if it was written before the game was sealed, or by an earlier
-- release. No effect if the dispute has a later version than `seen`. Returns whether it took effect.
CREATE OR REPLACE FUNCTION put_off_dispute(
    its_dispute uuid, seen integer, next_at timestamptz
) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH done AS (
        UPDATE disputes d SET wake_at = next_at
        WHERE d.dispute_id = its_dispute AND d.version = seen
        RETURNING 1
    )
    SELECT EXISTS (SELECT FROM done)
$$;


-- create_player: add a player; names need not be unique.
CREATE OR REPLACE FUNCTION create_player(
    player uuid, its_name text, token bytea, recovery bytea, at timestamptz
) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    INSERT INTO players (player_id, name, token_hash, recovery_hash, created_at)
    VALUES (player, its_name, token, recovery, at)
$$;


-- erase_player: remove the personal data of a player; the id stays, because games refer to it.
--
-- Returns false for an unknown player or one erased before. SH423 during a hand, which needs the
-- player. The row is locked first, and a deal locks its players (hold_players) until its commit: if
-- both happen at the same time, the second one is refused.
--
-- The player's stored answers and texts in disputes are deleted too. The streams keep commitments
-- to these texts, which reveal nothing without the salt.
CREATE OR REPLACE FUNCTION erase_player(player uuid, at timestamptz) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM FROM players p WHERE p.player_id = player FOR UPDATE;

    -- A separate statement, because it must see what was committed while the lock was awaited.
    IF EXISTS (
        SELECT 1 FROM game_seats s
        JOIN games g ON g.game_id = s.game_id
        WHERE s.player_id = player AND g.status NOT IN ('ended', 'aborted')
    ) THEN
        RAISE EXCEPTION 'a hand is being played' USING ERRCODE = 'SH423';
    END IF;

    DELETE FROM answers a WHERE a.caller = player;
    UPDATE dispute_texts t SET words = NULL, salt = NULL WHERE t.author = player;
    UPDATE players p
    SET name = NULL, token_hash = NULL, recovery_hash = NULL, erased_at = at
    WHERE p.player_id = player AND p.erased_at IS NULL;
    RETURN FOUND;
END
$$;


-- hold_players: lock players against erasure until this commit, because they open a table, take a
-- seat, are dealt cards, or become referees. SH401 if one was erased already.
CREATE OR REPLACE FUNCTION hold_players(wanted uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM FROM players p
    WHERE p.player_id = ANY (wanted)
    ORDER BY p.player_id
    FOR KEY SHARE;

    -- A separate statement, because it must see what was committed while the locks were awaited.
    IF EXISTS (SELECT FROM players p WHERE p.player_id = ANY (wanted) AND p.erased_at IS NOT NULL) THEN
        RAISE EXCEPTION 'a player has been erased' USING ERRCODE = 'SH401';
    END IF;
END
$$;

-- keep_answer: store the answer to a request; SH410 if it has one.
--
-- A concurrent repetition waits here until the first request has committed or failed.
CREATE OR REPLACE FUNCTION keep_answer(answer jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    INSERT INTO answers (caller, request_key, body_hash, sealed)
    VALUES (
        (answer ->> 'caller')::uuid,
        decode(answer ->> 'key', 'base64'),
        decode(answer ->> 'body', 'base64'),
        decode(answer ->> 'sealed', 'base64')
    );
EXCEPTION
    WHEN unique_violation THEN
        RAISE EXCEPTION 'this request has been answered' USING ERRCODE = 'SH410';
END
$$;


-- keep_facts: store the data of a game for statistics, and delete its outbox row.
--
-- A repeated call changes nothing. `its_deck` is null if the game was aborted before the deal.
CREATE OR REPLACE FUNCTION keep_facts(game uuid, its_deck jsonb, its_choices jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    INSERT INTO shuffled_decks
    SELECT r.*
    FROM jsonb_populate_record(
        NULL::shuffled_decks, its_deck || jsonb_build_object('game_id', game)
    ) r
    WHERE its_deck IS NOT NULL
    ON CONFLICT ON CONSTRAINT shuffled_decks_pkey DO NOTHING;

    INSERT INTO blind_choices (game_id, seq, player_id, slots, playable, fitted, ended_at)
    SELECT game, c.seq, c.player_id, c.slots, c.playable, c.fitted, c.ended_at
    FROM jsonb_populate_recordset(NULL::blind_choices, its_choices) c
    ON CONFLICT ON CONSTRAINT blind_choices_pkey DO NOTHING;

    DELETE FROM outbox o WHERE o.stream_id = game AND o.topic = 'statistics';
END
$$;


-- listed_for: as may_see_game, without referees and invites; for processes of earlier releases.
CREATE OR REPLACE FUNCTION listed_for(viewer uuid, game uuid, its_table uuid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_temp
AS $$
    SELECT viewer IS NOT NULL AND (
        EXISTS (SELECT FROM game_seats s WHERE s.game_id = game AND s.player_id = viewer)
        OR EXISTS (SELECT FROM table_seats s WHERE s.table_id = its_table AND s.player_id = viewer)
        OR EXISTS (SELECT FROM tables t WHERE t.table_id = its_table AND t.host = viewer)
    )
$$;

-- look_up: the data that a request needs first, in one round trip: its player, answer and game.
--
-- STABLE: all statements see one snapshot. On a distributed database (decision 0060) each sees its
-- own; therefore events that `version` does not count are left out. Small statements instead of one
-- join over all tables, whose plan would depend on which arguments are null.
--
-- Each argument may be null: then nothing is read for it. `beside` adds data that is not in the log
-- of the game: its secret, table, players with their names, and the first event of the table.
CREATE OR REPLACE FUNCTION look_up(
    token bytea, its_request_key bytea, game uuid, after_seq integer, named uuid[], beside boolean,
    OUT player_id uuid, OUT name text, OUT body_hash bytea, OUT sealed bytea,
    OUT kind text, OUT version integer, OUT head bytea, OUT lines bytea[], OUT back jsonb,
    OUT names jsonb, OUT key_id text, OUT ciphertext bytea,
    OUT table_id uuid, OUT host uuid, OUT public boolean, OUT invite_hash bytea,
    OUT seats jsonb, OUT opened bytea
)
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp
AS $$
BEGIN
    IF token IS NOT NULL THEN
        SELECT p.player_id, p.name INTO look_up.player_id, look_up.name
        FROM players p WHERE p.token_hash = token;
    END IF;

    IF its_request_key IS NOT NULL AND look_up.player_id IS NOT NULL THEN
        SELECT a.body_hash, a.sealed INTO look_up.body_hash, look_up.sealed
        FROM answers a WHERE a.caller = look_up.player_id AND a.request_key = its_request_key;
    END IF;

    IF game IS NOT NULL THEN
        SELECT s.kind, s.version, s.head, g.back, g.table_id
        INTO look_up.kind, look_up.version, look_up.head, look_up.back, look_up.table_id
        FROM streams s
        LEFT JOIN games g ON g.game_id = s.stream_id
        WHERE s.stream_id = game;
        lines := '{}';
        IF look_up.version > after_seq THEN
            lines := ARRAY(
                SELECT e.line FROM events e
                WHERE e.stream_id = game AND e.seq >= after_seq AND e.seq < look_up.version
                ORDER BY e.seq
            );
        END IF;
    END IF;

    IF cardinality(named) > 0 THEN
        names := (SELECT jsonb_object_agg(p.player_id, p.name) FROM players p WHERE p.player_id = ANY (named));
    END IF;

    IF beside AND look_up.table_id IS NOT NULL THEN
        SELECT c.key_id, c.ciphertext INTO look_up.key_id, look_up.ciphertext
        FROM secrets c WHERE c.game_id = game;
        SELECT t.host, t.public, t.invite_hash INTO look_up.host, look_up.public, look_up.invite_hash
        FROM tables t WHERE t.table_id = look_up.table_id;
        seats := (
            SELECT jsonb_agg(jsonb_build_array(w.player_id, p.name) ORDER BY w.seat)
            FROM game_seats w
            LEFT JOIN players p ON p.player_id = w.player_id
            WHERE w.game_id = game
        );
        opened := (SELECT e.line FROM events e WHERE e.stream_id = look_up.table_id AND e.seq = 0);
    END IF;
END
$$;

-- may_see_game: whether a player, or a caller with an invite, may see a hand of a private table.
--
-- True for its players, the players who sit at its table now, the host, referees of disputes about
-- it until they are recused, and callers with the invite (by its SHA-256). access.py has the same rule
-- for single calls.
CREATE OR REPLACE FUNCTION may_see_game(viewer uuid, invite bytea, game uuid, its_table uuid)
RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_temp
AS $$
    SELECT
        (
            invite IS NOT NULL AND EXISTS (
                SELECT FROM tables t WHERE t.table_id = its_table AND t.invite_hash = invite
            )
        )
        OR (
            viewer IS NOT NULL AND (
                EXISTS (SELECT FROM game_seats s WHERE s.game_id = game AND s.player_id = viewer)
                OR EXISTS (
                    SELECT FROM table_seats s WHERE s.table_id = its_table AND s.player_id = viewer
                )
                OR EXISTS (SELECT FROM tables t WHERE t.table_id = its_table AND t.host = viewer)
                OR EXISTS (
                    SELECT FROM disputes d
                    JOIN dispute_referees r ON r.dispute_id = d.dispute_id
                    WHERE d.game_id = game AND r.player_id = viewer AND NOT r.recused
                )
            )
        )
$$;


-- note_act: add a row to the operator log; only the owner of the database may call it.
CREATE OR REPLACE FUNCTION note_act(
    noted_at timestamptz, by_operator text, its_act text, its_target uuid, its_outcome text
) RETURNS void
LANGUAGE sql SET search_path = public, pg_temp
AS $$
    INSERT INTO trail (at, operator, act, target, outcome)
    VALUES (noted_at, by_operator, its_act, its_target, its_outcome)
$$;


-- open_stream: insert the row of a new stream; SH409 if it exists.
--
-- A separate function, because the exception handler costs a subtransaction that an append to an
-- existing stream does not need.
CREATE OR REPLACE FUNCTION open_stream(stream uuid, its_kind text, reached integer, its_head bytea)
RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    INSERT INTO streams (stream_id, kind, version, head)
    VALUES (stream, its_kind, reached, its_head);
EXCEPTION
    WHEN unique_violation THEN
        PERFORM refuse_version(stream, 0);
END
$$;


-- purge_answers: delete answers stored before a time, at most 10,000; returns the number deleted.
--
-- The caller repeats the call until it returns 0, so that no single call takes long.
CREATE OR REPLACE FUNCTION purge_answers(before timestamptz) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    deleted  bigint;
BEGIN
    DELETE FROM answers a
    USING (
        SELECT o.caller, o.request_key FROM answers o WHERE o.created_at < before LIMIT 10000
    ) old
    WHERE a.caller = old.caller AND a.request_key = old.request_key;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END
$$;


-- purge_players: erase at most 1,000 players who registered before a time and were never active.
--
-- Returns the number erased; the caller repeats the call until it returns 0.
--
-- A player may become active at the same moment. Players locked by hold_players are skipped. The
-- others are locked and checked again: an earlier commit is seen then, and a later one waits and
-- gets SH401.
CREATE OR REPLACE FUNCTION purge_players(before timestamptz, at timestamptz) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    found   uuid[];
    locked  uuid[];
BEGIN
    found := ARRAY(SELECT u.player_id FROM unused_players u WHERE u.created_at < before LIMIT 1000);
    locked := ARRAY(
        SELECT p.player_id FROM players p WHERE p.player_id = ANY (found) FOR UPDATE SKIP LOCKED
    );
    RETURN (
        SELECT count(*) FILTER (WHERE erase_player(u.player_id, at))
        FROM unused_players u
        WHERE u.player_id = ANY (locked)
    );
END
$$;


-- purge_refusals: delete refused moves of games that were over before a time, at most 10,000.
--
-- Returns the number deleted; the caller repeats the call until it returns 0. No move is refused
-- after the end of its game, so only rows of that age are read.
CREATE OR REPLACE FUNCTION purge_refusals(before timestamptz) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    deleted  bigint;
BEGIN
    DELETE FROM refusals r
    USING (
        SELECT o.game_id, o.refusal_id
        FROM refusals o
        JOIN games g ON g.game_id = o.game_id
        WHERE o.at < before AND g.ended_at < before
        LIMIT 10000
    ) old
    WHERE r.game_id = old.game_id AND r.refusal_id = old.refusal_id;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END
$$;


-- record_attempt: store a refused move of a running game, encrypted by the caller.
--
-- Returns false, and stores nothing, if the game is over or unknown. Locks the row of the stream: the
-- append that seals the game comes either before, and this returns false, or after, and counts this
-- attempt (see check_refusals). Only the first 200 attempts of a seat are stored; for later ones it
-- also returns true.
CREATE OR REPLACE FUNCTION record_attempt(
    game uuid, attempt uuid, refused_at timestamptz, its_seat integer, key text, ciphertext bytea
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM FROM streams s WHERE s.stream_id = game FOR NO KEY UPDATE;

    -- A separate statement, because it must see what was committed while the lock was awaited.
    IF NOT EXISTS (SELECT FROM games g WHERE g.game_id = game AND g.ended_at IS NULL) THEN
        RETURN false;
    END IF;

    INSERT INTO refusals (game_id, refusal_id, at, seat, key_id, sealed, arrival)
    SELECT game, attempt, refused_at, its_seat, key, ciphertext, count(*) + 1
    FROM refusals r
    WHERE r.game_id = game
    HAVING count(*) FILTER (WHERE r.seat = its_seat) < 200;
    RETURN true;
END
$$;


-- record_reading: add a read of private data to the access log, unless it repeats one.
--
-- A repetition has the same reader, resource and version of the game, within a minute. Without this
-- rule a polling client would fill the disk.
CREATE OR REPLACE FUNCTION record_reading(
    game uuid, read_at timestamptz, its_reader uuid, what_was_read text
) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    INSERT INTO readings (game_id, at, reader, what, version)
    SELECT game, read_at, its_reader, what_was_read, present.version
    FROM (SELECT max(g.version) AS version FROM games g WHERE g.game_id = game) present
    WHERE NOT EXISTS (
        SELECT FROM readings r
        WHERE r.game_id = game
            AND r.at > read_at - interval '1 minute'
            AND r.what = what_was_read
            AND r.reader IS NOT DISTINCT FROM its_reader
            AND r.version IS NOT DISTINCT FROM present.version
    )
$$;


-- record_refusal: store a refused move, encrypted by the caller, for processes of earlier releases.
--
-- This release calls record_attempt. Only the first 200 of a seat are stored, because the game's
-- bundle contains every stored one and must stay small enough to be read.
CREATE OR REPLACE FUNCTION record_refusal(
    game uuid, refused_at timestamptz, its_seat integer, key text, ciphertext bytea
) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    INSERT INTO refusals (game_id, at, seat, key_id, sealed)
    SELECT game, refused_at, its_seat, key, ciphertext
    WHERE (
        SELECT count(*) FROM refusals r WHERE r.game_id = game AND r.seat = its_seat
    ) < 200
$$;


-- recover_player: give the player with a recovery code a new token; returns the player or null.
CREATE OR REPLACE FUNCTION recover_player(recovery bytea, token bytea) RETURNS uuid
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    UPDATE players p SET token_hash = token
    WHERE p.recovery_hash = recovery
    RETURNING p.player_id
$$;


-- refuse_change: trigger that refuses a change of stored rows with SH403, to the owner as well.
--
-- The triggers below name the tables and the changes. Events can be deleted: see refuse_delete.
-- The triggers are ENABLE ALWAYS, because session_replication_role = replica skips ordinary ones. If
-- `events` is ever partitioned, each partition needs its own TRUNCATE trigger: one on the parent does
-- not fire.
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION '% on % is refused: the record is append-only', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'SH403';
END
$$;

CREATE OR REPLACE TRIGGER events_never_change BEFORE UPDATE OR TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE events ENABLE ALWAYS TRIGGER events_never_change;

CREATE OR REPLACE TRIGGER streams_never_go BEFORE DELETE OR TRUNCATE ON streams
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE streams ENABLE ALWAYS TRIGGER streams_never_go;

-- The condition avoids a function call in each append, because an append increases the version.
CREATE OR REPLACE TRIGGER streams_only_grow BEFORE UPDATE ON streams
    FOR EACH ROW WHEN (
        NEW.version <= OLD.version OR NEW.stream_id <> OLD.stream_id OR NEW.kind <> OLD.kind
    ) EXECUTE FUNCTION refuse_change();
ALTER TABLE streams ENABLE ALWAYS TRIGGER streams_only_grow;

CREATE OR REPLACE TRIGGER archived_never_changes BEFORE UPDATE OR DELETE OR TRUNCATE ON archived
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE archived ENABLE ALWAYS TRIGGER archived_never_changes;

CREATE OR REPLACE TRIGGER readings_never_change BEFORE UPDATE OR DELETE OR TRUNCATE ON readings
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE readings ENABLE ALWAYS TRIGGER readings_never_change;

CREATE OR REPLACE TRIGGER trail_never_changes BEFORE UPDATE OR DELETE OR TRUNCATE ON trail
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE trail ENABLE ALWAYS TRIGGER trail_never_changes;


-- refuse_delete: trigger that refuses to delete an event unless its stream is in `archived`.
--
-- The row in `archived` is the permission, so there is no switch that could stay on by mistake.
CREATE OR REPLACE FUNCTION refuse_delete() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    IF EXISTS (SELECT FROM archived a WHERE a.stream_id = OLD.stream_id AND a.version > OLD.seq) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'DELETE on events is refused: the record is append-only'
        USING ERRCODE = 'SH403';
END
$$;

CREATE OR REPLACE TRIGGER events_never_go BEFORE DELETE ON events
    FOR EACH ROW EXECUTE FUNCTION refuse_delete();
ALTER TABLE events ENABLE ALWAYS TRIGGER events_never_go;

-- refuse_over_quota: SH429 if a player has reached a quota; DETAIL names it.
--
-- Called in the transaction that adds one more. The player's row is locked first, so of two
-- concurrent writes the second counts the first. The lock does not conflict with hold_players.
--
--   [{player, kind: tables|games|rulesets|disputes|new_disputes, most, since: null or time}]
CREATE OR REPLACE FUNCTION refuse_over_quota(quotas jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    quota  record;
    taken  bigint;
BEGIN
    PERFORM FROM players p
    WHERE p.player_id IN (SELECT (q.value ->> 'player')::uuid FROM jsonb_array_elements(quotas) q)
    ORDER BY p.player_id
    FOR NO KEY UPDATE;

    -- Each count is a separate statement, to see what was committed while the lock was awaited.
    FOR quota IN
        SELECT q.* FROM jsonb_to_recordset(quotas) q (
            player uuid, kind text, most integer, since timestamptz
        )
    LOOP
        CASE quota.kind
            WHEN 'tables' THEN
                taken := (
                    SELECT count(*) FROM tables t
                    WHERE t.host = quota.player AND t.status <> 'closed'
                );
            WHEN 'games' THEN
                taken := (
                    SELECT count(*) FROM game_seats s
                    JOIN games g ON g.game_id = s.game_id
                    WHERE s.player_id = quota.player AND g.status NOT IN ('ended', 'aborted')
                );
            WHEN 'rulesets' THEN
                taken := (SELECT count(*) FROM rulesets_custom r WHERE r.owner = quota.player);
            WHEN 'disputes' THEN
                taken := (
                    SELECT count(*) FROM disputes d
                    WHERE d.accuser = quota.player AND d.state <> 'final'
                );
            WHEN 'new_disputes' THEN
                taken := (
                    SELECT count(*) FROM disputes d
                    WHERE d.accuser = quota.player AND d.opened_at > quota.since
                );
        END CASE;
        IF taken >= quota.most THEN
            RAISE EXCEPTION 'the player has reached a quota'
                USING ERRCODE = 'SH429', DETAIL = quota.kind;
        END IF;
    END LOOP;
END
$$;


-- refuse_version: raise SH409, with the stream and its present version as JSON in DETAIL.
--
-- Version 0 in DETAIL means that there is no such stream. SH400 if the version is the expected one:
-- then the caller found no row because the stream is of another kind.
CREATE OR REPLACE FUNCTION refuse_version(stream uuid, expected integer) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    present  integer := coalesce((SELECT s.version FROM streams s WHERE s.stream_id = stream), 0);
BEGIN
    IF present = expected THEN
        RAISE EXCEPTION 'stream % is of another kind', stream USING ERRCODE = 'SH400';
    END IF;
    RAISE EXCEPTION 'stream % is at version %, not %', stream, present, expected
        USING
            ERRCODE = 'SH409',
            DETAIL = jsonb_build_object('stream', stream, 'version', present)::text;
END
$$;


-- rename_player: set the name of a player; returns false for an unknown or erased one.
--
-- Only the owner of the database may call it; see set_name.
CREATE OR REPLACE FUNCTION rename_player(player uuid, new_name text) RETURNS boolean
LANGUAGE sql SET search_path = public, pg_temp
AS $$
    WITH done AS (
        UPDATE players p SET name = new_name
        WHERE p.player_id = player AND p.erased_at IS NULL
        RETURNING 1
    )
    SELECT EXISTS (SELECT FROM done)
$$;


-- rotate_token: replace the token of a player; returns false for an unknown or erased one.
CREATE OR REPLACE FUNCTION rotate_token(player uuid, token bytea) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH done AS (
        UPDATE players p SET token_hash = token
        WHERE p.player_id = player AND p.erased_at IS NULL
        RETURNING 1
    )
    SELECT EXISTS (SELECT FROM done)
$$;


-- save_ruleset: store a ruleset under the hash of its settings; returns whether it is new.
--
-- If the same settings are stored already, the first name and owner stay. SH401 if the owner was
-- erased.
CREATE OR REPLACE FUNCTION save_ruleset(
    ruleset text, its_name text, its_owner uuid, its_document text, at timestamptz
) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT hold_players(ARRAY[its_owner]);
    WITH done AS (
        INSERT INTO rulesets_custom (ruleset_id, name, owner, document, created_at)
        VALUES (ruleset, its_name, its_owner, its_document, at)
        ON CONFLICT ON CONSTRAINT rulesets_custom_pkey DO NOTHING
        RETURNING 1
    )
    SELECT EXISTS (SELECT FROM done)
$$;

-- save_ruleset_within: save_ruleset for an owner with fewer than `most` rulesets; else SH429.
--
-- A ruleset that is stored already does not count against the quota.
CREATE OR REPLACE FUNCTION save_ruleset_within(
    ruleset text, its_name text, its_owner uuid, its_document text, at timestamptz, most integer
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    IF EXISTS (SELECT FROM rulesets_custom r WHERE r.ruleset_id = ruleset) THEN
        RETURN false;
    END IF;
    PERFORM refuse_over_quota(jsonb_build_array(
        jsonb_build_object('player', its_owner, 'kind', 'rulesets', 'most', most)
    ));
    RETURN save_ruleset(ruleset, its_name, its_owner, its_document, at);
END
$$;


-- set_name: set a player's name at the player's own request.
--
-- Returns false for an unknown or erased player.
--
-- Operators use rename_player, which the service may not execute; the trail records their actions.
CREATE OR REPLACE FUNCTION set_name(player uuid, new_name text) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH done AS (
        UPDATE players p SET name = new_name
        WHERE p.player_id = player AND p.erased_at IS NULL
        RETURNING 1
    )
    SELECT EXISTS (SELECT FROM done)
$$;


-- set_recovery: replace the recovery code of a player; returns false for an unknown or erased one.
CREATE OR REPLACE FUNCTION set_recovery(player uuid, recovery bytea) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH done AS (
        UPDATE players p SET recovery_hash = recovery
        WHERE p.player_id = player AND p.erased_at IS NULL
        RETURNING 1
    )
    SELECT EXISTS (SELECT FROM done)
$$;


-- summarise_dispute: set the columns of a dispute's summary row that `summary` names, and its version.
--
-- The first append inserts the row. `referees` replaces all referees; `texts`, `bundle`, `findings`
-- and `votes` are inserted in the transaction of the events that refer to them. The append of the
-- ruling deletes the votes, because its events reveal them; so does that of an end without a ruling.
CREATE OR REPLACE FUNCTION summarise_dispute(its_dispute uuid, reached integer, summary jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    fields jsonb := coalesce(summary, '{}')
        || jsonb_build_object('dispute_id', its_dispute, 'version', reached);
BEGIN
    UPDATE disputes d SET (
        game_id, version, state, accuser, accused, charge, verdict, opened_at, found_at, wake_at,
        move, proven
    ) = (
        SELECT
            r.game_id, r.version, r.state, r.accuser, r.accused, r.charge, r.verdict,
            r.opened_at, r.found_at, r.wake_at, r.move, r.proven
        FROM jsonb_populate_record(d, fields) r
    )
    WHERE d.dispute_id = its_dispute;

    IF NOT FOUND AND summary IS NOT NULL THEN
        INSERT INTO disputes
        SELECT * FROM jsonb_populate_record(NULL::disputes, '{"found_at": 0}' || fields);
    END IF;

    IF fields -> 'referees' IS NOT NULL THEN
        PERFORM hold_players(ARRAY(
            SELECT r.player_id
            FROM jsonb_populate_recordset(NULL::dispute_referees, fields -> 'referees') r
            EXCEPT
            SELECT r.player_id FROM dispute_referees r WHERE r.dispute_id = its_dispute
        ));
        DELETE FROM dispute_referees r WHERE r.dispute_id = its_dispute;
        INSERT INTO dispute_referees (dispute_id, referee, player_id, recused)
        SELECT its_dispute, r.referee, r.player_id, r.recused
        FROM jsonb_populate_recordset(NULL::dispute_referees, fields -> 'referees') r;
    END IF;

    IF fields -> 'texts' IS NOT NULL THEN
        INSERT INTO dispute_texts (dispute_id, seq, author, salt, words)
        SELECT its_dispute, t.seq, t.author, t.salt, t.words
        FROM jsonb_populate_recordset(NULL::dispute_texts, fields -> 'texts') t;
    END IF;

    IF fields -> 'bundle' IS NOT NULL THEN
        INSERT INTO dispute_bundles (dispute_id, bundle)
        SELECT its_dispute, b.bundle FROM jsonb_populate_record(NULL::dispute_bundles, fields) b;
    END IF;

    IF fields -> 'findings' IS NOT NULL THEN
        INSERT INTO dispute_findings (dispute_id, found_at, key_id, sealed)
        SELECT its_dispute, f.found_at, f.key_id, f.sealed
        FROM jsonb_populate_record(NULL::dispute_findings, fields -> 'findings') f
        ON CONFLICT (dispute_id, found_at) DO UPDATE
        SET key_id = excluded.key_id, sealed = excluded.sealed;
    END IF;

    IF fields -> 'votes' IS NOT NULL THEN
        INSERT INTO dispute_votes (dispute_id, referee, key_id, sealed)
        SELECT its_dispute, v.referee, v.key_id, v.sealed
        FROM jsonb_populate_recordset(NULL::dispute_votes, fields -> 'votes') v;
    END IF;

    IF fields ->> 'state' IN ('ruled', 'final') THEN
        DELETE FROM dispute_votes v WHERE v.dispute_id = its_dispute;
    END IF;
END
$$;


-- summarise_game: set the columns of a game's summary row that `summary` names, and its version.
--
-- The first append with a summary inserts the row; `seats` replaces all seats. Their players are
-- locked (hold_players), so no hand is dealt to a player who is erased at the same moment.
CREATE OR REPLACE FUNCTION summarise_game(game uuid, reached integer, summary jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    fields  jsonb := coalesce(summary, '{}') || jsonb_build_object('game_id', game, 'version', reached);
BEGIN
    UPDATE games g SET (
        table_id, hand, ruleset_id, status, version, turn, dealer, created_at, ended_at,
        reason, shithead, places, public, wake_kind, wake_at, wake_seat, back
    ) = (
        SELECT
            r.table_id, r.hand, r.ruleset_id, r.status, r.version, r.turn, r.dealer, r.created_at,
            r.ended_at, r.reason, r.shithead, r.places, r.public, r.wake_kind, r.wake_at,
            r.wake_seat, r.back
        FROM jsonb_populate_record(g, fields) r
    )
    WHERE g.game_id = game;

    IF NOT FOUND AND summary IS NOT NULL THEN
        INSERT INTO games SELECT * FROM jsonb_populate_record(NULL::games, fields);
    END IF;

    IF fields -> 'seats' IS NOT NULL THEN
        PERFORM hold_players(ARRAY(
            SELECT r.player_id FROM jsonb_populate_recordset(NULL::game_seats, fields -> 'seats') r
            WHERE r.player_id IS NOT NULL
        ));
        DELETE FROM game_seats s WHERE s.game_id = game;
        INSERT INTO game_seats (game_id, seat, kind, bot, player_id)
        SELECT game, r.seat, r.kind, r.bot, r.player_id
        FROM jsonb_populate_recordset(NULL::game_seats, fields -> 'seats') r;
    END IF;
END
$$;


-- summarise_table: set the columns of a table's summary row that `summary` names, and its version.
--
-- The first append with a summary inserts the row; `seats` replaces all seats. New players of the
-- seats, and the host, are locked (hold_players) against a concurrent purge_players.
CREATE OR REPLACE FUNCTION summarise_table(its_table uuid, reached integer, summary jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    fields  jsonb := coalesce(summary, '{}')
        || jsonb_build_object('table_id', its_table, 'version', reached);
BEGIN
    UPDATE tables t SET (
        host, version, status, public, ruleset_id, invite_hash, created_at, hand, game_id
    ) = (
        SELECT
            r.host, r.version, r.status, r.public, r.ruleset_id, r.invite_hash, r.created_at,
            r.hand, r.game_id
        FROM jsonb_populate_record(t, fields) r
    )
    WHERE t.table_id = its_table;

    IF NOT FOUND AND summary IS NOT NULL THEN
        PERFORM hold_players(ARRAY[(fields ->> 'host')::uuid]);
        INSERT INTO tables SELECT * FROM jsonb_populate_record(NULL::tables, '{"hand": 0}' || fields);
    END IF;

    IF fields -> 'seats' IS NOT NULL THEN
        PERFORM hold_players(ARRAY(
            SELECT r.player_id FROM jsonb_populate_recordset(NULL::table_seats, fields -> 'seats') r
            EXCEPT
            SELECT s.player_id FROM table_seats s WHERE s.table_id = its_table
        ));
        DELETE FROM table_seats s WHERE s.table_id = its_table;
        INSERT INTO table_seats (table_id, seat, kind, bot, player_id)
        SELECT its_table, r.seat, r.kind, r.bot, r.player_id
        FROM jsonb_populate_recordset(NULL::table_seats, fields -> 'seats') r;
    END IF;
END
$$;


-- append_log: add leaves, tiles and head to the public log in one transaction; the only way to do so.
--
-- `size` is the size of the tree on which the caller built. SH409 if the tree has grown (DETAIL:
-- its size): the caller reads and builds again. The lock serialises callers.
--
-- The outbox rows that requested the leaves are deleted in the same transaction, so a crash neither
-- loses nor repeats a leaf. The hashes of leaves are computed here from the stored bytes.
--
--   {"size", "root" (base64), "at", "leaves": [{game, version, data: text}],
--    "hashes": [{level from 1, position, hash (base64)}], "done": [{stream, version}]}
CREATE OR REPLACE FUNCTION append_log(batch jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    built_on  bigint := (batch ->> 'size')::bigint;
    added     integer := jsonb_array_length(batch -> 'leaves');
    present   bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(5001006962);
    SELECT max(h.size) INTO present FROM log_heads h;
    IF present <> built_on THEN
        RAISE EXCEPTION 'the public log has % leaves, not %', present, built_on
            USING ERRCODE = 'SH409', DETAIL = json_build_object('size', present);
    END IF;

    DELETE FROM outbox o
    USING jsonb_array_elements(batch -> 'done') d
    WHERE o.topic = 'log'
        AND o.stream_id = (d.value ->> 'stream')::uuid
        AND o.version = (d.value ->> 'version')::integer;

    IF added = 0 THEN
        RETURN;
    END IF;

    INSERT INTO log_leaves (leaf_index, game_id, version, data, added_at)
    SELECT
        built_on + l.place - 1,
        (l.value ->> 'game')::uuid,
        (l.value ->> 'version')::integer,
        convert_to(l.value ->> 'data', 'UTF8'),
        (batch ->> 'at')::timestamptz
    FROM jsonb_array_elements(batch -> 'leaves') WITH ORDINALITY l (value, place);

    INSERT INTO log_hashes (level, position, hash)
    SELECT 0, l.leaf_index, sha256('\x00'::bytea || l.data)
    FROM log_leaves l
    WHERE l.leaf_index >= built_on;

    INSERT INTO log_hashes (level, position, hash)
    SELECT
        (h.value ->> 'level')::integer,
        (h.value ->> 'position')::bigint,
        decode(h.value ->> 'hash', 'base64')
    FROM jsonb_array_elements(batch -> 'hashes') h
    WHERE (h.value ->> 'level')::integer > 0;

    INSERT INTO log_heads (size, root, made_at)
    VALUES (
        built_on + added, decode(batch ->> 'root', 'base64'), (batch ->> 'at')::timestamptz
    );
END
$$;


-- keep_cosignature: store a witness's cosignature of a checkpoint; the first one stays.
--
-- Returns whether it was stored: false too if the tree is unknown or not signed.
CREATE OR REPLACE FUNCTION keep_cosignature(of_size bigint, by_witness text, signed text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    INSERT INTO log_cosignatures (size, witness, line)
    SELECT h.size, by_witness, signed
    FROM log_heads h
    WHERE h.size = of_size AND h.note IS NOT NULL
        AND NOT EXISTS (
            SELECT FROM log_cosignatures c WHERE c.size = of_size AND c.witness = by_witness
        );
    RETURN FOUND;
END
$$;


-- refuse_log_change: trigger that refuses changes of the public log with SH403, to the owner as well.
--
-- The only change allowed is to set or replace the note of a head. A note can never be removed.
CREATE OR REPLACE FUNCTION refuse_log_change() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION '% on % is refused: the public log only grows', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'SH403';
END
$$;

CREATE OR REPLACE TRIGGER log_leaves_never_change BEFORE UPDATE OR DELETE OR TRUNCATE ON log_leaves
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_log_change();
ALTER TABLE log_leaves ENABLE ALWAYS TRIGGER log_leaves_never_change;

CREATE OR REPLACE TRIGGER log_hashes_never_change BEFORE UPDATE OR DELETE OR TRUNCATE ON log_hashes
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_log_change();
ALTER TABLE log_hashes ENABLE ALWAYS TRIGGER log_hashes_never_change;

CREATE OR REPLACE TRIGGER log_heads_never_go BEFORE DELETE OR TRUNCATE ON log_heads
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_log_change();
ALTER TABLE log_heads ENABLE ALWAYS TRIGGER log_heads_never_go;

CREATE OR REPLACE TRIGGER log_heads_are_only_signed BEFORE UPDATE ON log_heads
    FOR EACH ROW WHEN (
        NEW.size <> OLD.size OR NEW.root <> OLD.root OR NEW.made_at <> OLD.made_at
        OR NEW.note IS NULL
    ) EXECUTE FUNCTION refuse_log_change();
ALTER TABLE log_heads ENABLE ALWAYS TRIGGER log_heads_are_only_signed;

CREATE OR REPLACE TRIGGER log_cosignatures_never_change
    BEFORE UPDATE OR DELETE OR TRUNCATE ON log_cosignatures
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_log_change();
ALTER TABLE log_cosignatures ENABLE ALWAYS TRIGGER log_cosignatures_never_change;


-- sign_log_head: store the signed checkpoint of a known tree; returns whether the tree is known.
--
-- A table constraint compares the note with the tree. A later note of the same tree has more
-- signatures, for example after a key rotation.
CREATE OR REPLACE FUNCTION sign_log_head(of_size bigint, signed bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    UPDATE log_heads h SET note = signed WHERE h.size = of_size;
    RETURN FOUND;
END
$$;


-- Roles and privileges; applied again after every change of the schema.
--
-- The owner is the role that runs the migrations; no process of the application connects as it. The
-- other roles are created here if they are missing (a role belongs to the whole server, not to one
-- database); if the owner may not create roles, an administrator creates them.
--
--   shithead_service   for the API and the workers: reads, and executes the functions that write
--   shithead_reader    for statistics and dashboards: reads no names, texts or secrets
--   shithead_auditor   for checks of every stream against its head: reads no tokens or secrets
--
-- shithead_service may log in and has no password, so it can connect only over a trusted connection
-- (the embedded server's private socket) until the owner sets a password. The other two are group
-- roles, to be granted to administrators.

DO $$
DECLARE
    wanted  record;
BEGIN
    FOR wanted IN
        SELECT *
        FROM (VALUES
            ('shithead_service', 'LOGIN'), ('shithead_reader', 'NOLOGIN'), ('shithead_auditor', 'NOLOGIN')
        ) roles (name, login)
        WHERE NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = roles.name)
    LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I %s', wanted.name, wanted.login);
        EXCEPTION
            WHEN duplicate_object OR unique_violation THEN
                NULL;  -- created at the same moment from another database
        END;
    END LOOP;
END
$$;

GRANT USAGE ON SCHEMA public TO shithead_service, shithead_reader, shithead_auditor;

REVOKE ALL ON
    streams, events, archived, secrets, answers, outbox, event_log,
    players, games, game_seats, tables, table_seats, refusals, readings, rulesets_custom,
    disputes, dispute_referees, dispute_texts, dispute_bundles, dispute_findings,
    dispute_votes, shuffled_decks, blind_choices,
    log_leaves, log_hashes, log_heads, log_cosignatures, trail,
    game_rows, table_rows, unused_players, applied_migrations, applied_files
FROM PUBLIC, shithead_service, shithead_reader, shithead_auditor;

GRANT SELECT ON
    streams, events, archived, secrets, answers, outbox,
    players, games, game_seats, tables, table_seats, refusals, readings, rulesets_custom,
    disputes, dispute_referees, dispute_texts, dispute_bundles, dispute_findings,
    dispute_votes, shuffled_decks, blind_choices,
    log_leaves, log_hashes, log_heads, log_cosignatures,
    game_rows, table_rows, applied_migrations, applied_files
TO shithead_service;

GRANT SELECT ON event_log, streams, archived, games, game_seats, rulesets_custom TO shithead_reader;

GRANT SELECT ON
    event_log, streams, events, archived, games, game_seats, readings, rulesets_custom
TO shithead_auditor;

GRANT SELECT ON log_leaves, log_hashes, log_heads, log_cosignatures TO shithead_reader, shithead_auditor;

GRANT SELECT ON trail TO shithead_auditor;

REVOKE ALL ON FUNCTION
    append_events, append_stream, open_stream, refuse_version, keep_answer, summarise_game,
    summarise_table, refuse_change, refuse_delete, check_archived, archive_stream, claim_outbox,
    purge_answers, create_player, rotate_token, recover_player, erase_player, record_refusal,
    record_attempt, check_refusals, record_reading, save_ruleset, come_back, put_off, listed_for,
    summarise_dispute, keep_facts, try_append_events, append_move, append_game_move
FROM PUBLIC;

REVOKE ALL ON FUNCTION append_log, sign_log_head, keep_cosignature, refuse_log_change FROM PUBLIC;

REVOKE ALL ON FUNCTION note_act, rename_player, purge_refusals, purge_players, hold_players
FROM PUBLIC;

REVOKE ALL ON FUNCTION refuse_over_quota, save_ruleset_within, may_see_game, look_up FROM PUBLIC;

GRANT EXECUTE ON FUNCTION save_ruleset_within, may_see_game, look_up TO shithead_service;

GRANT EXECUTE ON FUNCTION append_log, sign_log_head, keep_cosignature TO shithead_service;

REVOKE ALL ON FUNCTION put_off_dispute, set_name, set_recovery FROM PUBLIC;

GRANT EXECUTE ON FUNCTION put_off_dispute, set_name, set_recovery TO shithead_service;

GRANT EXECUTE ON FUNCTION purge_refusals, purge_players TO shithead_service;

GRANT EXECUTE ON FUNCTION
    append_events, claim_outbox, purge_answers, create_player, rotate_token, recover_player,
    erase_player, record_refusal, record_attempt, record_reading, save_ruleset, come_back, put_off,
    listed_for, keep_facts, try_append_events, append_game_move
TO shithead_service;
