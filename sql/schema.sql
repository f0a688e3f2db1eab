-- The tables and views of this release, as documentation. Written by `python -m ops.schema` from a
-- migrated database; no program reads it. A change of the schema, or of a comment, is a new file in
-- sql/migrations. Functions are in sql/functions, one a file, and what each role may do in
-- sql/privileges.sql.

-- The migrations applied to this database.
CREATE TABLE applied_migrations (
    name        text NOT NULL,      -- of the file, without its extension
    checksum    bytea NOT NULL,     -- SHA-256 of the file
    applied_at  timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT applied_migrations_pkey PRIMARY KEY (name)
);

-- The files of functions and privileges, which are applied again when they change.
CREATE TABLE applied_files (
    name        text NOT NULL,      -- of a file that is applied again when it changes
    checksum    bytea NOT NULL,     -- SHA-256 of the file
    applied_at  timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT applied_files_pkey PRIMARY KEY (name)
);

-- The record: streams of events, one for each game, table, dispute and access log, with data beside
-- running games and the outbox. Every key starts with the id of a stream. There are no sequences,
-- and no foreign keys from one stream to another. An append therefore touches only rows of its own
-- streams, so streams can be partitioned or distributed by id without a change of the schema.
CREATE TABLE streams (
    stream_id  uuid NOT NULL,
    kind       text NOT NULL,      -- StreamKind; only games are public
    version    integer NOT NULL,   -- number of events; an append compares and sets it
    head       bytea NOT NULL,     -- SHA-256(0x00 || last line)
    CONSTRAINT streams_pkey PRIMARY KEY (stream_id),
    CONSTRAINT streams_head_is_hash CHECK (octet_length(head) = 32),
    CONSTRAINT streams_kind_known CHECK (kind = ANY (ARRAY['game', 'table', 'dispute', 'access'])),
    CONSTRAINT streams_version_positive CHECK (version > 0)
) WITH (fillfactor=70);
CREATE TRIGGER streams_never_go BEFORE DELETE OR TRUNCATE ON streams
    FOR EACH STATEMENT
    EXECUTE FUNCTION refuse_change();
CREATE TRIGGER streams_only_grow BEFORE UPDATE ON streams
    FOR EACH ROW WHEN (((new.version <= old.version) OR (new.stream_id <> old.stream_id) OR (new.kind <> old.kind)))
    EXECUTE FUNCTION refuse_change();

-- The lines of the streams.
CREATE TABLE events (
    stream_id  uuid NOT NULL,
    seq        integer NOT NULL,   -- from 0, without gaps
    line       bytea NOT NULL,     -- canonical JSON, the exact bytes that are hashed; jsonb would change them
    CONSTRAINT events_pkey PRIMARY KEY (stream_id, seq),
    CONSTRAINT events_seq_from_zero CHECK (seq >= 0),
    CONSTRAINT events_short CHECK (octet_length(line) <= 4194304)
);
CREATE TRIGGER events_never_change BEFORE UPDATE OR TRUNCATE ON events
    FOR EACH STATEMENT
    EXECUTE FUNCTION refuse_change();
CREATE TRIGGER events_never_go BEFORE DELETE ON events
    FOR EACH ROW
    EXECUTE FUNCTION refuse_delete();

-- Archived streams: their events are in bundles outside the database. Only events of streams listed
-- here may be deleted.
CREATE TABLE archived (
    stream_id    uuid NOT NULL,
    version      integer NOT NULL,   -- of the whole stream
    head         bytea NOT NULL,     -- of the whole stream
    bundle       bytea NOT NULL,     -- SHA-256 of the bundle with its events
    archived_at  timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT archived_pkey PRIMARY KEY (stream_id),
    CONSTRAINT archived_bundle_is_hash CHECK (octet_length(bundle) = 32)
);
CREATE TRIGGER archived_is_true BEFORE INSERT ON archived
    FOR EACH ROW
    EXECUTE FUNCTION check_archived();
CREATE TRIGGER archived_never_changes BEFORE DELETE OR UPDATE OR TRUNCATE ON archived
    FOR EACH STATEMENT
    EXECUTE FUNCTION refuse_change();

-- The server seeds of running games, encrypted by the service. A seed is deleted when its game is
-- sealed or aborted.
CREATE TABLE secrets (
    game_id     uuid NOT NULL,
    key_id      text NOT NULL,      -- of a key in the key file
    ciphertext  bytea NOT NULL,     -- AES-256-GCM, the game id as associated data
    CONSTRAINT secrets_pkey PRIMARY KEY (game_id),
    CONSTRAINT secrets_short CHECK (octet_length(ciphertext) <= 1000)
);

-- Answers to requests that carried an Idempotency-Key, encrypted by the service.
CREATE TABLE answers (
    caller       uuid NOT NULL,
    request_key  bytea NOT NULL,     -- SHA-256 over path and key
    body_hash    bytea NOT NULL,     -- SHA-256 over the body
    sealed       bytea NOT NULL,     -- the answer, encrypted
    created_at   timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT answers_pkey PRIMARY KEY (caller, request_key),
    CONSTRAINT answers_short CHECK (octet_length(sealed) <= 33554432 AND octet_length(request_key) <= 1000)
);
CREATE INDEX answers_by_age ON answers (created_at);
CREATE INDEX answers_by_size ON answers (caller, octet_length(sealed)) WHERE (substr(sealed, 1, 4) <> '\x6c6f673a'::bytea);

-- Outbox: tasks that follow a commit; the process that takes a task deletes its row.
CREATE TABLE outbox (
    stream_id   uuid NOT NULL,
    version     integer NOT NULL,   -- the stream's version after the commit
    topic       text NOT NULL,      -- the receiver: game, log, statistics
    created_at  timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT outbox_pkey PRIMARY KEY (stream_id, version, topic)
);
CREATE INDEX outbox_by_age ON outbox (topic, created_at);

-- The events as JSON, for SQL sessions; derived from `line`, which is the record.
CREATE VIEW event_log AS
 SELECT e.stream_id,
    e.seq,
    convert_from(e.line, 'UTF8')::jsonb AS event
   FROM events e
     JOIN streams s ON s.stream_id = e.stream_id
  WHERE s.kind = 'game';

-- The directory: data for lists, pages and the sweeper, to be read without folding a stream. Names
-- of players are stored here and in no stream, so that they can be erased.
CREATE TABLE players (
    player_id      uuid NOT NULL,
    name           text,               -- null once erased
    recovery_hash  bytea,              -- SHA-256; null once erased
    created_at     timestamptz NOT NULL,
    erased_at      timestamptz,
    CONSTRAINT players_pkey PRIMARY KEY (player_id),
    CONSTRAINT players_recovery_unique UNIQUE (recovery_hash),
    CONSTRAINT players_erased_whole CHECK (erased_at IS NULL AND num_nulls(name, recovery_hash) = 0 OR erased_at IS NOT NULL AND num_nonnulls(name, recovery_hash) = 0),
    CONSTRAINT players_short CHECK (octet_length(name) <= 160)
);
CREATE INDEX players_erased ON players (erased_at) WHERE (erased_at IS NOT NULL);

-- The bearer tokens of players: several a player, each with what it permits. One that ends is
-- deleted, at once or, after its end, with the next that is issued.
CREATE TABLE tokens (
    token_id    uuid NOT NULL,
    token_hash  bytea NOT NULL,     -- SHA-256; the token itself is not stored
    player_id   uuid NOT NULL,
    name        text NOT NULL,      -- given by the player; registration, recovery, renewed
    scopes      text[] NOT NULL,    -- of read, play, dispute, account; never changed
    created_at  timestamptz NOT NULL,
    ends_at     timestamptz,        -- null: no end
    used_on     date,               -- day of the last use, in UTC; null before the first
    CONSTRAINT tokens_pkey PRIMARY KEY (token_hash),
    CONSTRAINT tokens_id_unique UNIQUE (token_id),
    CONSTRAINT tokens_scopes_known CHECK (cardinality(scopes) > 0 AND scopes <@ ARRAY['read', 'play', 'dispute', 'account']),
    CONSTRAINT tokens_short CHECK (octet_length(name) <= 160)
);
CREATE INDEX tokens_by_player ON tokens (player_id);

-- Custom rulesets. The id is the hash of the settings, so a row never changes.
CREATE TABLE rulesets_custom (
    ruleset_id  text NOT NULL,
    name        text NOT NULL,
    owner       uuid NOT NULL,      -- player
    document    text NOT NULL,      -- JSON
    created_at  timestamptz NOT NULL,
    CONSTRAINT rulesets_custom_pkey PRIMARY KEY (ruleset_id),
    CONSTRAINT rulesets_custom_short CHECK (octet_length(name) <= 320 AND octet_length(document) <= 262144)
);
CREATE INDEX rulesets_custom_by_owner ON rulesets_custom (owner);

-- A summary of a game, written by the append that changes it, like those in game_seats, tables and
-- table_seats.
CREATE TABLE games (
    game_id     uuid NOT NULL,
    table_id    uuid NOT NULL,
    hand        integer NOT NULL,
    ruleset_id  text NOT NULL,
    status      text NOT NULL,
    version     integer NOT NULL,
    turn        integer,            -- seat; null if no single seat is on turn
    dealer      integer,            -- seat; null while it is not drawn
    created_at  timestamptz NOT NULL,
    ended_at    timestamptz,
    reason      text,               -- of game_ended, or the cause of game_aborted
    shithead    integer,            -- seat
    places      jsonb,              -- seats in the order in which they went out
    public      boolean NOT NULL,
    wake_kind   text,               -- the next scheduled action: bot, time_out, entropy
    wake_at     timestamptz,        -- its time
    back        jsonb,              -- seats whose players came back while a bot stood in
    CONSTRAINT games_pkey PRIMARY KEY (game_id),
    CONSTRAINT games_status_known CHECK (status = ANY (ARRAY['shuffling', 'swapping', 'playing', 'ended', 'aborted']))
) WITH (fillfactor=70);
CREATE INDEX games_by_age ON games (created_at DESC, game_id DESC);
CREATE INDEX games_by_table ON games (table_id, created_at DESC, game_id DESC);
CREATE INDEX games_due ON games (wake_at) WHERE (wake_at IS NOT NULL);
CREATE INDEX games_running ON games (game_id) WHERE (status = ANY (ARRAY['shuffling', 'swapping', 'playing']));

-- The seats of a game, with the summary in games.
CREATE TABLE game_seats (
    game_id    uuid NOT NULL,
    seat       integer NOT NULL,
    kind       text NOT NULL,      -- human, bot
    bot        text,               -- its name
    player_id  uuid,               -- also after the player was erased
    dealt_at   timestamptz NOT NULL,  -- created_at of the game
    CONSTRAINT game_seats_pkey PRIMARY KEY (game_id, seat)
);
CREATE INDEX game_seats_by_player_and_age ON game_seats (player_id, dealt_at DESC, game_id DESC) WHERE (player_id IS NOT NULL);

-- The hands of a player, counted by the commits that deal and end them: a page, a quota and the
-- admission of a referee read this row instead of all hands. `check --deep` counts them again.
CREATE TABLE player_results (
    player_id        uuid NOT NULL,      -- also after the player was erased
    running          integer NOT NULL,   -- neither ended nor aborted
    games            integer NOT NULL,   -- ended, not aborted
    shithead         integer NOT NULL,   -- of games
    public_games     integer NOT NULL,   -- of games, those at public tables
    public_shithead  integer NOT NULL,   -- of public_games
    CONSTRAINT player_results_pkey PRIMARY KEY (player_id)
) WITH (fillfactor=70);

-- Games with their seats and the names of their players.
CREATE VIEW game_rows AS
 SELECT game_id,
    table_id,
    hand,
    ruleset_id,
    status,
    version,
    turn,
    dealer,
    created_at,
    ended_at,
    reason,
    shithead,
    places,
    public,
    wake_kind,
    wake_at,
    back,
    ( SELECT jsonb_agg(jsonb_build_object('seat', s.seat, 'kind', s.kind, 'bot', s.bot, 'player', s.player_id, 'name', p.name) ORDER BY s.seat) AS jsonb_agg
           FROM game_seats s
             LEFT JOIN players p ON p.player_id = s.player_id
          WHERE s.game_id = g.game_id) AS seats
   FROM games g;

-- A summary of a table.
CREATE TABLE tables (
    table_id     uuid NOT NULL,
    host         uuid NOT NULL,      -- player
    version      integer NOT NULL,
    status       text NOT NULL,
    public       boolean NOT NULL,
    ruleset_id   text NOT NULL,
    invite_hash  bytea,              -- SHA-256 of the invite of a private table
    created_at   timestamptz NOT NULL,
    hand         integer NOT NULL DEFAULT 0,  -- the last hand dealt
    game_id      uuid,               -- the hand being played
    ready_since  timestamptz,        -- since when the table waits to deal its next hand by itself; null: it does not
    CONSTRAINT tables_pkey PRIMARY KEY (table_id),
    CONSTRAINT tables_status_known CHECK (status = ANY (ARRAY['open', 'between', 'playing', 'closed']))
) WITH (fillfactor=70);
CREATE INDEX tables_by_age ON tables (created_at DESC, table_id DESC);
CREATE INDEX tables_by_host ON tables (host, created_at);
CREATE INDEX tables_ready ON tables (ready_since) WHERE (ready_since IS NOT NULL);

-- The seats of a table.
CREATE TABLE table_seats (
    table_id   uuid NOT NULL,
    seat       integer NOT NULL,
    kind       text NOT NULL,      -- human, bot, open
    bot        text,
    player_id  uuid,
    CONSTRAINT table_seats_pkey PRIMARY KEY (table_id, seat)
);
CREATE INDEX table_seats_by_player ON table_seats (player_id) WHERE (player_id IS NOT NULL);

-- Tables with their seats and the names of their players.
CREATE VIEW table_rows AS
 SELECT table_id,
    host,
    version,
    status,
    public,
    ruleset_id,
    invite_hash,
    created_at,
    hand,
    game_id,
    ( SELECT jsonb_agg(jsonb_build_object('seat', s.seat, 'kind', s.kind, 'bot', s.bot, 'player', s.player_id, 'name', p.name) ORDER BY s.seat) AS jsonb_agg
           FROM table_seats s
             LEFT JOIN players p ON p.player_id = s.player_id
          WHERE s.table_id = t.table_id) AS seats
   FROM tables t;

-- Refused moves, encrypted by the service, because they name cards that the player may hold.
-- `arrival` numbers the attempts of a game.
CREATE TABLE refusals (
    game_id     uuid NOT NULL,
    refusal_id  uuid NOT NULL DEFAULT gen_random_uuid(),
    at          timestamptz NOT NULL,
    seat        integer NOT NULL,
    key_id      text NOT NULL,
    sealed      bytea NOT NULL,
    arrival     integer NOT NULL,
    CONSTRAINT refusals_pkey PRIMARY KEY (game_id, refusal_id),
    CONSTRAINT refusals_short CHECK (octet_length(sealed) <= 262144)
);
CREATE INDEX refusals_by_age ON refusals (at);

-- Access log: reads of a game's private data by callers who do not own it.
CREATE TABLE readings (
    game_id     uuid NOT NULL,
    reading_id  uuid NOT NULL DEFAULT gen_random_uuid(),
    at          timestamptz NOT NULL,
    reader      uuid,               -- player; null for a caller with the invite and no token
    what        text NOT NULL,
    version     integer,            -- of the game; null for an unknown game
    CONSTRAINT readings_pkey PRIMARY KEY (game_id, reading_id),
    CONSTRAINT readings_short CHECK (octet_length(what) <= 1200)
);
CREATE INDEX readings_by_time ON readings (game_id, at, reading_id);
CREATE TRIGGER readings_never_change BEFORE DELETE OR UPDATE OR TRUNCATE ON readings
    FOR EACH STATEMENT
    EXECUTE FUNCTION refuse_change();

-- Notes of players on events of a game: outside the record, deleted with the player.
CREATE TABLE notes (
    game_id     uuid NOT NULL,
    author      uuid NOT NULL,
    seq         integer NOT NULL,
    words       text NOT NULL,
    visibility  text NOT NULL,      -- me: the author alone; dispute: also the seats of the game and the referees of its disputes
    at          timestamptz NOT NULL,
    CONSTRAINT notes_pkey PRIMARY KEY (game_id, author, seq),
    CONSTRAINT notes_have_a_visibility CHECK (visibility = ANY (ARRAY['me', 'dispute'])),
    CONSTRAINT notes_short CHECK (octet_length(words) <= 4000)
);
CREATE INDEX notes_by_author ON notes (author);

-- Players whom a player does not want beside them: no invitation or seek seats them together.
CREATE TABLE blocks (
    player   uuid NOT NULL,      -- who blocks, and alone may see it
    blocked  uuid NOT NULL,
    at       timestamptz NOT NULL,
    CONSTRAINT blocks_pkey PRIMARY KEY (player, blocked),
    CONSTRAINT blocks_name_another CHECK (player <> blocked)
);
CREATE INDEX blocks_by_blocked ON blocks (blocked);

-- Invitations of players to tables by their hosts: outside the streams. A row ends with the
-- player's seat, with the table, and if the host withdraws it.
CREATE TABLE invitations (
    table_id     uuid NOT NULL,
    player       uuid NOT NULL,
    at           timestamptz NOT NULL,
    declined_at  timestamptz,        -- null while it is open
    CONSTRAINT invitations_pkey PRIMARY KEY (table_id, player)
);
CREATE INDEX invitations_by_player ON invitations (player);

-- Invitations that their player may see: nobody at the table and the player block one another.
CREATE VIEW open_invitations AS
 SELECT i.table_id,
    i.player,
    i.at,
    t.host,
    t.version,
    t.ruleset_id,
    t.public
   FROM invitations i
     JOIN tables t ON t.table_id = i.table_id
  WHERE i.declined_at IS NULL AND t.status <> 'closed' AND NOT (EXISTS ( SELECT
           FROM blocks b
          WHERE b.player = i.player AND (b.blocked = t.host OR (b.blocked IN ( SELECT s.player_id
                   FROM table_seats s
                  WHERE s.table_id = i.table_id))) OR b.blocked = i.player AND (b.player = t.host OR (b.player IN ( SELECT s.player_id
                   FROM table_seats s
                  WHERE s.table_id = i.table_id)))));

-- Wishes of players for a table with anybody; deleted a day after their end, and with the player.
CREATE TABLE seeks (
    seek_id       uuid NOT NULL,
    player_id     uuid NOT NULL,
    rulesets      text[] NOT NULL,    -- any of them will do, the preferred one first
    seats         integer NOT NULL,
    turn_seconds  integer,            -- the clock, with swap_seconds; null for none
    swap_seconds  integer,
    entropy       text NOT NULL,
    key           text,               -- public key of the seat
    fill_after    integer,            -- seconds after created_at at which bots take the empty seats; null: never
    keep          boolean NOT NULL,   -- stays open if another seek of the player is matched
    created_at    timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,  -- an open seek expires then, unless it is renewed
    ended_at      timestamptz,        -- matched or withdrawn; null: open or expired
    table_id      uuid,               -- the table of a matched seek
    CONSTRAINT seeks_pkey PRIMARY KEY (seek_id),
    CONSTRAINT seeks_have_rulesets CHECK (cardinality(rulesets) > 0),
    CONSTRAINT seeks_short CHECK (cardinality(rulesets) <= 30 AND octet_length(key) <= 100),
    CONSTRAINT seeks_with_a_table_have_ended CHECK (table_id IS NULL OR ended_at IS NOT NULL)
);
CREATE INDEX seeks_by_player ON seeks (player_id);
CREATE INDEX seeks_open ON seeks (expires_at) WHERE (ended_at IS NULL);

-- The receiver that a player named for the own events: one a player, replaced by a new one.
CREATE TABLE webhooks (
    player_id      uuid NOT NULL,
    token_id       uuid NOT NULL,      -- the token that set it, or that replaced this one; it ends with it
    url            text NOT NULL,      -- personal data, deleted with the player
    types          text[] NOT NULL,    -- of the own stream; no check, so that a new type needs no migration
    origin         text NOT NULL,      -- keyed hash of the network address that set it: what is done for one address at a time is limited
    key_id         text NOT NULL,      -- of a key in the key file
    secret         bytea NOT NULL,     -- encrypted, bound to the player; it signs every request
    state          text NOT NULL,      -- waiting for the echo of its ping, on, or off until it is set again
    fault          text,               -- code of the last failed attempt; null after a success
    status         integer,            -- HTTP status of the last failed attempt; null without an answer
    failures       integer NOT NULL DEFAULT 0,  -- failed attempts in a row; 0: none fails
    failing_since  timestamptz,        -- of the first of these
    created_at     timestamptz NOT NULL,
    delivered_at   timestamptz,        -- of the last success; null before the first
    due_at         timestamptz NOT NULL,  -- when a worker looks next for something to send
    claim          integer NOT NULL DEFAULT 0,  -- number of the last claim, named by whatever is stored under it
    claimed_until  timestamptz,        -- a worker holds the claim until then; null: none does
    tables         uuid[] NOT NULL DEFAULT '{}'::uuid[],  -- open at the last look: their ends are sent
    games          uuid[] NOT NULL DEFAULT '{}'::uuid[],  -- running at the last look: their ends are sent
    looked_at      timestamptz,        -- time of the last look, for what began and ended since
    CONSTRAINT webhooks_pkey PRIMARY KEY (player_id),
    CONSTRAINT webhooks_short CHECK (octet_length(url) <= 2000 AND octet_length(origin) <= 2000 AND octet_length(secret) <= 1000),
    CONSTRAINT webhooks_state_known CHECK (state = ANY (ARRAY['waiting', 'on', 'off']))
);
CREATE INDEX webhooks_due ON webhooks (due_at) WHERE (state <> 'off');

-- The newest notice of each type and object that a webhook has to be, or was, sent while it is
-- open.
CREATE TABLE webhook_deliveries (
    player_id  uuid NOT NULL,
    type       text NOT NULL,      -- of the own stream
    id         uuid NOT NULL,      -- the game, table or dispute
    mark       integer NOT NULL,   -- a notice with a higher one is newer
    body       text NOT NULL,      -- the JSON that is signed; equal at each attempt
    found_at   timestamptz NOT NULL,  -- the time that the body states
    sent_at    timestamptz,        -- when the receiver accepted it; null: not yet
    CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (player_id, type, id),
    CONSTRAINT webhook_deliveries_short CHECK (octet_length(body) <= 65536)
);

-- A summary of a dispute. Texts and names are not in its stream, so that they can be erased; the
-- stream has commitments to the texts. The frozen evidence is the public bundle, which has no
-- secret.
CREATE TABLE disputes (
    dispute_id  uuid NOT NULL,
    game_id     uuid NOT NULL,
    version     integer NOT NULL,
    state       text NOT NULL,
    accuser     uuid NOT NULL,      -- player
    accused     uuid,               -- player; null for a bot or the server
    charge      text NOT NULL,
    verdict     text,               -- of the newest ruling
    opened_at   timestamptz NOT NULL,
    found_at    integer NOT NULL DEFAULT 0,  -- version of the game at which the findings were made
    wake_at     timestamptz,        -- end of the next period
    move        integer,            -- first event of the move
    proven      boolean,            -- the newest ruling is against the server
    CONSTRAINT disputes_pkey PRIMARY KEY (dispute_id),
    CONSTRAINT disputes_state_known CHECK (state = ANY (ARRAY['open', 'voting', 'revealing', 'ruled', 'appealed', 'final'])),
    CONSTRAINT disputes_verdict_known CHECK (verdict = ANY (ARRAY['cad', 'cleared']))
) WITH (fillfactor=70);
CREATE INDEX disputes_by_accused ON disputes (accused);
CREATE INDEX disputes_by_accuser ON disputes (accuser);
CREATE INDEX disputes_by_game ON disputes (game_id, opened_at DESC, dispute_id DESC);
CREATE INDEX disputes_by_time ON disputes (opened_at DESC, dispute_id DESC);
CREATE INDEX disputes_running ON disputes (wake_at) WHERE (state <> 'final');
CREATE UNIQUE INDEX disputes_one_running ON disputes (game_id, move, charge) WHERE (state <> 'final');

-- The referees of a dispute.
CREATE TABLE dispute_referees (
    dispute_id  uuid NOT NULL,
    referee     integer NOT NULL,   -- number within the dispute
    player_id   uuid NOT NULL,
    recused     boolean NOT NULL,
    CONSTRAINT dispute_referees_pkey PRIMARY KEY (dispute_id, referee)
);
CREATE INDEX dispute_referees_by_player ON dispute_referees (player_id);

-- Statements of the sides. Text and salt are deleted when their author is erased.
CREATE TABLE dispute_texts (
    dispute_id  uuid NOT NULL,
    seq         integer NOT NULL,   -- the event with the commitment
    author      uuid NOT NULL,      -- player
    salt        bytea,
    words       text,
    CONSTRAINT dispute_texts_pkey PRIMARY KEY (dispute_id, seq),
    CONSTRAINT dispute_texts_short CHECK (octet_length(words) <= 16000)
);
CREATE INDEX dispute_texts_by_author ON dispute_texts (author);

-- The evidence as of the opening of the dispute; its SHA-256 is in the stream.
CREATE TABLE dispute_bundles (
    dispute_id  uuid NOT NULL,
    bundle      bytea NOT NULL,
    CONSTRAINT dispute_bundles_pkey PRIMARY KEY (dispute_id)
);

-- Findings of the verifier, encrypted by the service.
CREATE TABLE dispute_findings (
    dispute_id  uuid NOT NULL,
    found_at    integer NOT NULL,   -- the game's version
    key_id      text NOT NULL,
    sealed      bytea NOT NULL,
    CONSTRAINT dispute_findings_pkey PRIMARY KEY (dispute_id, found_at),
    CONSTRAINT dispute_findings_short CHECK (octet_length(sealed) <= 2097152)
);

-- Votes that the server sealed, encrypted by the service; deleted with the ruling.
CREATE TABLE dispute_votes (
    dispute_id     uuid NOT NULL,
    referee        integer NOT NULL,   -- number within the dispute
    key_id         text NOT NULL,
    sealed         bytea NOT NULL,
    reason_key_id  text,
    reason         bytea,              -- encrypted, of one length for all votes; null once the referee is erased
    CONSTRAINT dispute_votes_pkey PRIMARY KEY (dispute_id, referee),
    CONSTRAINT dispute_votes_short CHECK (octet_length(sealed) <= 1000 AND octet_length(reason) <= 8000)
);

-- Players who were never active: no seat, no table, no ruleset, no part in a dispute.
CREATE VIEW unused_players AS
 SELECT player_id,
    created_at
   FROM players p
  WHERE erased_at IS NULL AND NOT (EXISTS ( SELECT
           FROM game_seats s
          WHERE s.player_id = p.player_id)) AND NOT (EXISTS ( SELECT
           FROM table_seats s
          WHERE s.player_id = p.player_id)) AND NOT (EXISTS ( SELECT
           FROM tables t
          WHERE t.host = p.player_id)) AND NOT (EXISTS ( SELECT
           FROM rulesets_custom r
          WHERE r.owner = p.player_id)) AND NOT (EXISTS ( SELECT
           FROM disputes d
          WHERE d.accuser = p.player_id)) AND NOT (EXISTS ( SELECT
           FROM dispute_referees r
          WHERE r.player_id = p.player_id)) AND NOT (EXISTS ( SELECT
           FROM seeks s
          WHERE s.player_id = p.player_id AND s.ended_at IS NULL));

-- Data for statistics, taken once from the logs of finished games, from which they can be computed
-- again. A row is inserted in the transaction that deletes the outbox row that requested it, so no
-- game is counted twice or left out.
CREATE TABLE shuffled_decks (
    game_id     uuid NOT NULL,
    ruleset_id  text NOT NULL,
    aborted     boolean NOT NULL,
    deck        text NOT NULL,      -- codes in order, with a space between
    dealt       integer NOT NULL,   -- cards that left the deck in the deal
    to_people   jsonb NOT NULL,     -- positions dealt to seats of players
    ended_at    timestamptz NOT NULL,
    CONSTRAINT shuffled_decks_pkey PRIMARY KEY (game_id)
);
CREATE INDEX shuffled_decks_by_age ON shuffled_decks (ended_at, game_id);

-- Data for statistics, like shuffled_decks: choices among face-down cards.
CREATE TABLE blind_choices (
    game_id    uuid NOT NULL,
    seq        integer NOT NULL,
    player_id  uuid NOT NULL,
    slots      integer NOT NULL,   -- face-down cards to choose from
    playable   integer NOT NULL,   -- of these, cards that fitted
    fitted     boolean NOT NULL,   -- whether the chosen card fitted
    ended_at   timestamptz NOT NULL,
    CONSTRAINT blind_choices_pkey PRIMARY KEY (game_id, seq)
);
CREATE INDEX blind_choices_by_player ON blind_choices (player_id, ended_at, game_id, seq);

-- Ratings of players and bots, computed from public hands in the order of the public log. A player
-- who is erased has none, and after an erasure or a final ruling all are computed again.
CREATE TABLE ratings (
    ruleset_id  text NOT NULL,
    rated       text NOT NULL,      -- the id of a player, or bot:<name>
    player_id   uuid,               -- null for a bot
    mu          double precision NOT NULL,  -- the mean of the skill
    sigma       double precision NOT NULL,  -- its standard deviation
    hands       integer NOT NULL,   -- rated hands
    CONSTRAINT ratings_pkey PRIMARY KEY (ruleset_id, rated),
    CONSTRAINT ratings_hands_positive CHECK (hands > 0)
);
CREATE INDEX ratings_by_player ON ratings (player_id) WHERE (player_id IS NOT NULL);
CREATE INDEX ratings_by_value ON ratings (ruleset_id, ((mu - ((3)::double precision * sigma))) DESC, rated);

-- What the ratings are computed from: one row.
CREATE TABLE ratings_reached (
    one         boolean NOT NULL DEFAULT true,
    leaves      bigint NOT NULL DEFAULT 0,  -- leaves of the public log that are counted
    erased      bigint NOT NULL DEFAULT 0,  -- erased players with public hands then
    rulings     bigint NOT NULL DEFAULT 0,  -- final rulings against a cad then
    erased_now  bigint NOT NULL DEFAULT 0,  -- erased players with public hands now
    CONSTRAINT ratings_reached_pkey PRIMARY KEY (one),
    CONSTRAINT ratings_reached_has_one_row CHECK (one)
);

-- The public log: one Merkle tree over all games, its tiles, heads and signatures. There is one
-- writer at a time, and leaves are only added, so a head always matches the first `size` leaves. A
-- head is inserted with its newest leaves and signed afterwards, so that no tree is signed that is
-- not stored.
CREATE TABLE log_leaves (
    leaf_index  bigint NOT NULL,    -- from 0, without gaps
    game_id     uuid NOT NULL,
    version     integer NOT NULL,   -- of the game; its head at this version is in the leaf
    data        bytea NOT NULL,     -- the body of a receipt
    added_at    timestamptz NOT NULL,
    CONSTRAINT log_leaves_pkey PRIMARY KEY (leaf_index),
    CONSTRAINT log_leaves_once UNIQUE (game_id, version),
    CONSTRAINT log_leaves_fit_a_bundle CHECK (octet_length(data) < 65536)
);
CREATE TRIGGER log_leaves_never_change BEFORE DELETE OR UPDATE OR TRUNCATE ON log_leaves
    FOR EACH STATEMENT
    EXECUTE FUNCTION refuse_log_change();

-- The hashes in tiles: at level 0 those of the leaves, above it one for each full tile below.
CREATE TABLE log_hashes (
    level     integer NOT NULL,
    position  bigint NOT NULL,    -- within the level, from 0
    hash      bytea NOT NULL,
    CONSTRAINT log_hashes_pkey PRIMARY KEY (level, "position"),
    CONSTRAINT log_hashes_is_hash CHECK (octet_length(hash) = 32)
);
CREATE TRIGGER log_hashes_never_change BEFORE DELETE OR UPDATE OR TRUNCATE ON log_hashes
    FOR EACH STATEMENT
    EXECUTE FUNCTION refuse_log_change();

-- The tree after each batch. `note` is null until it is signed; the newest signed head is served.
CREATE TABLE log_heads (
    size     bigint NOT NULL,
    root     bytea NOT NULL,
    made_at  timestamptz NOT NULL,
    note     bytea,              -- the checkpoint, signed by the log
    CONSTRAINT log_heads_pkey PRIMARY KEY (size),
    CONSTRAINT log_heads_is_hash CHECK (octet_length(root) = 32),
    CONSTRAINT log_heads_note_is_of_this_tree CHECK (note IS NULL OR split_part(convert_from(note, 'UTF8'), E'\n', 2) = size::text AND split_part(convert_from(note, 'UTF8'), E'\n', 3) = encode(root, 'base64') AND split_part(convert_from(note, 'UTF8'), E'\n', 4) = '')
);
CREATE INDEX log_heads_signed ON log_heads (size) WHERE (note IS NOT NULL);
CREATE TRIGGER log_heads_are_only_signed BEFORE UPDATE ON log_heads
    FOR EACH ROW WHEN (((new.size <> old.size) OR (new.root <> old.root) OR (new.made_at <> old.made_at) OR (new.note IS NULL)))
    EXECUTE FUNCTION refuse_log_change();
CREATE TRIGGER log_heads_never_go BEFORE DELETE OR TRUNCATE ON log_heads
    FOR EACH STATEMENT
    EXECUTE FUNCTION refuse_log_change();

-- Cosignatures of checkpoints by witnesses. They are never deleted, because they are evidence if
-- the log ever shows different trees to different readers.
CREATE TABLE log_cosignatures (
    size      bigint NOT NULL,
    witness   text NOT NULL,      -- its key: name+id+key
    line      text NOT NULL,      -- the signature line
    added_at  timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT log_cosignatures_pkey PRIMARY KEY (size, witness)
);
CREATE INDEX log_cosignatures_by_witness ON log_cosignatures (witness, size DESC);
CREATE TRIGGER log_cosignatures_never_change BEFORE DELETE OR UPDATE OR TRUNCATE ON log_cosignatures
    FOR EACH STATEMENT
    EXECUTE FUNCTION refuse_log_change();

-- Actions of operators with `shithead admin`. Rows are only added. Players appear here by id only,
-- so an erasure in `players` covers these rows too.
CREATE TABLE trail (
    entry_id  uuid NOT NULL DEFAULT gen_random_uuid(),
    at        timestamptz NOT NULL,
    operator  text NOT NULL,      -- the system user, or the value of --as
    act       text NOT NULL,      -- the command: rename, abort, archive, …
    target    uuid,               -- the player, table or game; null if there is none
    outcome   text NOT NULL,      -- done, or why it was refused
    CONSTRAINT trail_pkey PRIMARY KEY (entry_id),
    CONSTRAINT trail_says_who CHECK (operator <> '')
);
CREATE INDEX trail_by_age ON trail (at DESC, entry_id DESC);
CREATE TRIGGER trail_never_changes BEFORE DELETE OR UPDATE OR TRUNCATE ON trail
    FOR EACH STATEMENT
    EXECUTE FUNCTION refuse_change();

-- When the service could take moves, so that clocks give back the time of an outage: one row,
-- written every second by the sweepers. A gap in `seen_at` is an outage. All times are of the clock
-- of the database, so that sweepers on several machines agree.
CREATE TABLE availability (
    one         boolean NOT NULL DEFAULT true,
    seen_at     timestamptz NOT NULL,  -- the last sign of life
    able_since  timestamptz,        -- the end of the last outage; null before the first one
    CONSTRAINT availability_pkey PRIMARY KEY (one),
    CONSTRAINT availability_has_one_row CHECK (one)
);

-- The probe of readiness writes here as a move writes to the record, and deletes its row again.
-- Each probe extends the file of the table, which a full disk refuses.
CREATE TABLE write_probes (
    filler  text NOT NULL       -- more than half a page, stored uncompressed
) WITH (toast_tuple_target=8160, autovacuum_vacuum_threshold=100, autovacuum_vacuum_scale_factor=0);
