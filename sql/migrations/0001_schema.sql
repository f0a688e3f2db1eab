-- The schema of 0.1.0: tables, views, their indexes and comments.
--
-- psql shows the comments (`\d+ games`). Triggers are in sql/functions, beside the function that each
-- executes; what each role may do is in sql/privileges.sql.

COMMENT ON TABLE applied_migrations IS 'The migrations applied to this database.';
COMMENT ON COLUMN applied_migrations.name IS 'of the file, without its extension';
COMMENT ON COLUMN applied_migrations.checksum IS 'SHA-256 of the file';
COMMENT ON TABLE applied_files IS
    'The files of functions and privileges, which are applied again when they change.';
COMMENT ON COLUMN applied_files.name IS 'of a file that is applied again when it changes';
COMMENT ON COLUMN applied_files.checksum IS 'SHA-256 of the file';

CREATE TABLE streams (
    stream_id  uuid     NOT NULL,
    kind       text     NOT NULL,
    version    integer  NOT NULL,
    head       bytea    NOT NULL,
    CONSTRAINT streams_pkey PRIMARY KEY (stream_id),
    CONSTRAINT streams_kind_known CHECK (kind IN ('game', 'table', 'dispute', 'access')),
    CONSTRAINT streams_version_positive CHECK (version > 0),
    CONSTRAINT streams_head_is_hash CHECK (octet_length(head) = 32)
) WITH (fillfactor = 70);  -- room for the version to change in place
COMMENT ON TABLE streams IS
    'The record: streams of events, one for each game, table, dispute and access log, with data '
    'beside running games and the outbox. Every key starts with the id of a stream. There are no '
    'sequences, and no foreign keys from one stream to another. An append therefore touches only '
    'rows of its own streams, so streams can be partitioned or distributed by id without a change '
    'of the schema.';
COMMENT ON COLUMN streams.kind IS 'StreamKind; only games are public';
COMMENT ON COLUMN streams.version IS 'number of events; an append compares and sets it';
COMMENT ON COLUMN streams.head IS 'SHA-256(0x00 || last line)';

CREATE TABLE events (
    stream_id  uuid     NOT NULL,
    seq        integer  NOT NULL,
    line       bytea    NOT NULL,
    CONSTRAINT events_pkey PRIMARY KEY (stream_id, seq),
    CONSTRAINT events_short CHECK (octet_length(line) <= 4194304),
    CONSTRAINT events_seq_from_zero CHECK (seq >= 0)
);
COMMENT ON TABLE events IS 'The lines of the streams.';
COMMENT ON COLUMN events.seq IS 'from 0, without gaps';
COMMENT ON COLUMN events.line IS
    'canonical JSON, the exact bytes that are hashed; jsonb would change them';

CREATE TABLE archived (
    stream_id    uuid         NOT NULL,
    version      integer      NOT NULL,
    head         bytea        NOT NULL,
    bundle       bytea        NOT NULL,
    archived_at  timestamptz  NOT NULL DEFAULT now(),
    CONSTRAINT archived_pkey PRIMARY KEY (stream_id),
    CONSTRAINT archived_bundle_is_hash CHECK (octet_length(bundle) = 32)
);
COMMENT ON TABLE archived IS
    'Archived streams: their events are in bundles outside the database. Only events of streams '
    'listed here may be deleted.';
COMMENT ON COLUMN archived.version IS 'of the whole stream';
COMMENT ON COLUMN archived.head IS 'of the whole stream';
COMMENT ON COLUMN archived.bundle IS 'SHA-256 of the bundle with its events';

CREATE TABLE secrets (
    game_id     uuid   NOT NULL,
    key_id      text   NOT NULL,
    ciphertext  bytea  NOT NULL,
    CONSTRAINT secrets_pkey PRIMARY KEY (game_id),
    CONSTRAINT secrets_short CHECK (octet_length(ciphertext) <= 1000)
);
COMMENT ON TABLE secrets IS
    'The server seeds of running games, encrypted by the service. A seed is deleted when its game '
    'is sealed or aborted.';
COMMENT ON COLUMN secrets.key_id IS 'of a key in the key file';
COMMENT ON COLUMN secrets.ciphertext IS 'AES-256-GCM, the game id as associated data';

CREATE TABLE answers (
    caller       uuid         NOT NULL,
    request_key  bytea        NOT NULL,
    body_hash    bytea        NOT NULL,
    sealed       bytea        NOT NULL,
    created_at   timestamptz  NOT NULL DEFAULT now(),
    CONSTRAINT answers_pkey PRIMARY KEY (caller, request_key),
    CONSTRAINT answers_short CHECK (octet_length(sealed) <= 33554432 AND octet_length(request_key) <= 1000)
);
CREATE INDEX answers_by_age ON answers (created_at);
CREATE INDEX answers_by_size ON answers (caller, octet_length(sealed))
    WHERE substr(sealed, 1, 4) <> '\x6c6f673a'::bytea;  -- "log:"
COMMENT ON TABLE answers IS
    'Answers to requests that carried an Idempotency-Key, encrypted by the service.';
COMMENT ON COLUMN answers.request_key IS 'SHA-256 over path and key';
COMMENT ON COLUMN answers.body_hash IS 'SHA-256 over the body';
COMMENT ON COLUMN answers.sealed IS 'the answer, encrypted';

CREATE TABLE outbox (
    stream_id   uuid         NOT NULL,
    version     integer      NOT NULL,
    topic       text         NOT NULL,
    created_at  timestamptz  NOT NULL DEFAULT now(),
    CONSTRAINT outbox_pkey PRIMARY KEY (stream_id, version, topic)
);
CREATE INDEX outbox_by_age ON outbox (topic, created_at);
COMMENT ON TABLE outbox IS
    'Outbox: tasks that follow a commit; the process that takes a task deletes its row.';
COMMENT ON COLUMN outbox.version IS 'the stream''s version after the commit';
COMMENT ON COLUMN outbox.topic IS 'the receiver: game, log, statistics';

CREATE VIEW event_log AS
SELECT
    e.stream_id,
    e.seq,
    convert_from(e.line, 'UTF8')::jsonb AS event
FROM events e
JOIN streams s ON s.stream_id = e.stream_id
WHERE s.kind = 'game';
COMMENT ON VIEW event_log IS
    'The events as JSON, for SQL sessions; derived from `line`, which is the record.';

CREATE TABLE players (
    player_id      uuid         NOT NULL,
    name           text,
    recovery_hash  bytea,
    created_at     timestamptz  NOT NULL,
    erased_at      timestamptz,
    CONSTRAINT players_pkey PRIMARY KEY (player_id),
    CONSTRAINT players_short CHECK (octet_length(name) <= 160),
    CONSTRAINT players_recovery_unique UNIQUE (recovery_hash),
    CONSTRAINT players_erased_whole CHECK (
        (erased_at IS NULL AND num_nulls(name, recovery_hash) = 0)
        OR (erased_at IS NOT NULL AND num_nonnulls(name, recovery_hash) = 0)
    )
);
CREATE INDEX players_erased ON players (erased_at) WHERE erased_at IS NOT NULL;
COMMENT ON TABLE players IS
    'The directory: data for lists, pages and the sweeper, to be read without folding a stream. '
    'Names of players are stored here and in no stream, so that they can be erased.';
COMMENT ON COLUMN players.name IS 'null once erased';
COMMENT ON COLUMN players.recovery_hash IS 'SHA-256; null once erased';

CREATE TABLE handles (
    hash       bytea        NOT NULL,
    player_id  uuid,
    handle     text,
    chosen_at  timestamptz  NOT NULL,
    free_at    timestamptz,
    CONSTRAINT handles_pkey PRIMARY KEY (hash),
    CONSTRAINT handles_hash_is_hash CHECK (octet_length(hash) = 32),
    CONSTRAINT handles_short CHECK (octet_length(handle) <= 20),
    CONSTRAINT handles_in_use_or_held CHECK ((handle IS NULL) = (free_at IS NOT NULL)),
    CONSTRAINT handles_in_use_of_a_player CHECK (handle IS NULL OR player_id IS NOT NULL)
);
CREATE INDEX handles_by_player ON handles (player_id) WHERE player_id IS NOT NULL;
CREATE INDEX handles_by_prefix ON handles (handle text_pattern_ops) WHERE handle IS NOT NULL;
CREATE INDEX handles_held ON handles (free_at) WHERE free_at IS NOT NULL;
COMMENT ON TABLE handles IS
    'Handles of players, by which others find them, and for a time the hashes of those that were given up '
    'or erased: no other player gets these meanwhile.';
COMMENT ON COLUMN handles.hash IS
    'keyed hash of the form that look-alikes share; the key is outside the database';
COMMENT ON COLUMN handles.player_id IS 'whose it is, or was; null once erased';
COMMENT ON COLUMN handles.handle IS 'null once given up or erased';
COMMENT ON COLUMN handles.free_at IS 'others can choose it from then on; null while it is in use';

CREATE TABLE moments (
    moment_id  uuid         NOT NULL,
    player_id  uuid         NOT NULL,
    game_id    uuid         NOT NULL,
    version    integer      NOT NULL,
    viewer     text         NOT NULL,
    list_name  text         NOT NULL,
    words      text         NOT NULL,
    kept_at    timestamptz  NOT NULL,
    CONSTRAINT moments_pkey PRIMARY KEY (moment_id),
    CONSTRAINT moments_of_a_version CHECK (version > 0),
    CONSTRAINT moments_short CHECK (
        octet_length(viewer) <= 6 AND octet_length(list_name) <= 160 AND octet_length(words) <= 800
    )
);
CREATE INDEX moments_by_player ON moments (player_id, kept_at, moment_id);
COMMENT ON TABLE moments IS
    'Moments of hands that players keep for themselves, in lists by name; deleted with the player.';
COMMENT ON COLUMN moments.viewer IS 'public, all or a seat: as whom the player looked';

CREATE TABLE tokens (
    token_id    uuid         NOT NULL,
    token_hash  bytea        NOT NULL,
    player_id   uuid         NOT NULL,
    name        text         NOT NULL,
    scopes      text[]       NOT NULL,
    created_at  timestamptz  NOT NULL,
    ends_at     timestamptz,
    used_on     date,
    CONSTRAINT tokens_pkey PRIMARY KEY (token_hash),
    CONSTRAINT tokens_short CHECK (octet_length(name) <= 160),
    CONSTRAINT tokens_id_unique UNIQUE (token_id),
    CONSTRAINT tokens_scopes_known CHECK (
        cardinality(scopes) > 0 AND scopes <@ ARRAY['read', 'play', 'dispute', 'account']
    )
);
CREATE INDEX tokens_by_player ON tokens (player_id);
COMMENT ON TABLE tokens IS
    'The bearer tokens of players: several a player, each with what it permits. One that ends is '
    'deleted, at once or, after its end, with the next that is issued.';
COMMENT ON COLUMN tokens.token_hash IS 'SHA-256; the token itself is not stored';
COMMENT ON COLUMN tokens.name IS 'given by the player; registration, recovery, renewed';
COMMENT ON COLUMN tokens.scopes IS 'of read, play, dispute, account; never changed';
COMMENT ON COLUMN tokens.ends_at IS 'null: no end';
COMMENT ON COLUMN tokens.used_on IS 'day of the last use, in UTC; null before the first';

CREATE TABLE rulesets_custom (
    ruleset_id  text         NOT NULL,
    name        text         NOT NULL,
    owner       uuid         NOT NULL,
    document    text         NOT NULL,
    created_at  timestamptz  NOT NULL,
    CONSTRAINT rulesets_custom_pkey PRIMARY KEY (ruleset_id),
    CONSTRAINT rulesets_custom_short CHECK (octet_length(name) <= 320 AND octet_length(document) <= 262144)
);
CREATE INDEX rulesets_custom_by_owner ON rulesets_custom (owner);
COMMENT ON TABLE rulesets_custom IS
    'Custom rulesets. The id is the hash of the settings, so a row never changes.';
COMMENT ON COLUMN rulesets_custom.owner IS 'player';
COMMENT ON COLUMN rulesets_custom.document IS 'JSON';

CREATE TABLE games (
    game_id     uuid         NOT NULL,
    table_id    uuid         NOT NULL,
    hand        integer      NOT NULL,
    ruleset_id  text         NOT NULL,
    status      text         NOT NULL,
    version     integer      NOT NULL,
    turn        integer,
    dealer      integer,
    created_at  timestamptz  NOT NULL,
    ended_at    timestamptz,
    reason      text,
    shithead    integer,
    places      jsonb,
    left_by     jsonb,
    public      boolean      NOT NULL,
    wake_kind   text,
    wake_at     timestamptz,
    back        jsonb,
    CONSTRAINT games_pkey PRIMARY KEY (game_id),
    CONSTRAINT games_status_known CHECK (
        status IN ('shuffling', 'swapping', 'playing', 'ended', 'aborted')
    )
) WITH (fillfactor = 70);
CREATE INDEX games_by_age ON games (created_at DESC, game_id DESC);
CREATE INDEX games_by_table ON games (table_id, created_at DESC, game_id DESC);
CREATE INDEX games_due ON games (wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX games_running ON games (game_id) WHERE status IN ('shuffling', 'swapping', 'playing');
COMMENT ON TABLE games IS
    'A summary of a game, written by the append that changes it, like those in game_seats, tables '
    'and table_seats.';
COMMENT ON COLUMN games.turn IS 'seat; null if no single seat is on turn';
COMMENT ON COLUMN games.dealer IS 'seat; null while it is not drawn';
COMMENT ON COLUMN games.reason IS 'of game_ended, or the cause of game_aborted';
COMMENT ON COLUMN games.shithead IS 'seat';
COMMENT ON COLUMN games.places IS 'seats in the order in which they went out';
COMMENT ON COLUMN games.left_by IS
    'seats whose people had left by the end: a bot stood in, or the hand waited for them in vain';
COMMENT ON COLUMN games.wake_kind IS 'the next scheduled action: bot, time_out, entropy';
COMMENT ON COLUMN games.wake_at IS 'its time';
COMMENT ON COLUMN games.back IS 'seats whose players came back while a bot stood in';
COMMENT ON INDEX games_running IS 'Running games, which may need further leaves.';

CREATE TABLE game_seats (
    game_id    uuid         NOT NULL,
    seat       integer      NOT NULL,
    kind       text         NOT NULL,
    bot        text,
    player_id  uuid,
    dealt_at   timestamptz  NOT NULL,
    CONSTRAINT game_seats_pkey PRIMARY KEY (game_id, seat)
);
CREATE INDEX game_seats_by_player_and_age ON game_seats (player_id, dealt_at DESC, game_id DESC)
WHERE player_id IS NOT NULL;
COMMENT ON TABLE game_seats IS 'The seats of a game, with the summary in games.';
COMMENT ON COLUMN game_seats.kind IS 'human, bot';
COMMENT ON COLUMN game_seats.bot IS 'its name';
COMMENT ON COLUMN game_seats.player_id IS 'also after the player was erased';
COMMENT ON COLUMN game_seats.dealt_at IS 'created_at of the game';

CREATE TABLE player_results (
    player_id        uuid     NOT NULL,
    running          integer  NOT NULL,
    games            integer  NOT NULL,
    shithead         integer  NOT NULL,
    public_games     integer  NOT NULL,
    public_shithead  integer  NOT NULL,
    CONSTRAINT player_results_pkey PRIMARY KEY (player_id)
) WITH (fillfactor = 70);
COMMENT ON TABLE player_results IS
    'The hands of a player, counted by the commits that deal and end them: a page, a quota and the '
    'admission of a referee read this row instead of all hands. `check --deep` counts them again.';
COMMENT ON COLUMN player_results.player_id IS 'also after the player was erased';
COMMENT ON COLUMN player_results.running IS 'neither ended nor aborted';
COMMENT ON COLUMN player_results.games IS 'ended, not aborted';
COMMENT ON COLUMN player_results.shithead IS 'of games';
COMMENT ON COLUMN player_results.public_games IS 'of games, those at public tables';
COMMENT ON COLUMN player_results.public_shithead IS 'of public_games';

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
COMMENT ON VIEW game_rows IS 'Games with their seats and the names of their players.';

CREATE TABLE tables (
    table_id     uuid         NOT NULL,
    host         uuid         NOT NULL,
    version      integer      NOT NULL,
    status       text         NOT NULL,
    public       boolean      NOT NULL,
    ruleset_id   text         NOT NULL,
    invite_hash  bytea,
    created_at   timestamptz  NOT NULL,
    hand         integer      NOT NULL DEFAULT 0,
    game_id      uuid,
    ready_since  timestamptz,
    CONSTRAINT tables_pkey PRIMARY KEY (table_id),
    CONSTRAINT tables_status_known CHECK (status IN ('open', 'between', 'playing', 'closed'))
) WITH (fillfactor = 70);
CREATE INDEX tables_by_age ON tables (created_at DESC, table_id DESC);
CREATE INDEX tables_by_host ON tables (host, created_at);
CREATE INDEX tables_ready ON tables (ready_since) WHERE ready_since IS NOT NULL;
COMMENT ON TABLE tables IS 'A summary of a table.';
COMMENT ON COLUMN tables.host IS 'player';
COMMENT ON COLUMN tables.invite_hash IS 'SHA-256 of the invite of a private table';
COMMENT ON COLUMN tables.hand IS 'the last hand dealt';
COMMENT ON COLUMN tables.game_id IS 'the hand being played';
COMMENT ON COLUMN tables.ready_since IS
    'since when the table waits to deal its next hand by itself; null: it does not';

CREATE TABLE table_seats (
    table_id   uuid     NOT NULL,
    seat       integer  NOT NULL,
    kind       text     NOT NULL,
    bot        text,
    player_id  uuid,
    CONSTRAINT table_seats_pkey PRIMARY KEY (table_id, seat)
);
CREATE INDEX table_seats_by_player ON table_seats (player_id) WHERE player_id IS NOT NULL;
COMMENT ON TABLE table_seats IS 'The seats of a table.';
COMMENT ON COLUMN table_seats.kind IS 'human, bot, open';

CREATE VIEW table_rows AS
SELECT
    t.table_id,
    t.host,
    t.version,
    t.status,
    t.public,
    t.ruleset_id,
    t.invite_hash,
    t.created_at,
    t.hand,
    t.game_id,
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
COMMENT ON VIEW table_rows IS 'Tables with their seats and the names of their players.';

CREATE TABLE refusals (
    game_id     uuid         NOT NULL,
    refusal_id  uuid         NOT NULL DEFAULT gen_random_uuid(),
    at          timestamptz  NOT NULL,
    seat        integer      NOT NULL,
    key_id      text         NOT NULL,
    sealed      bytea        NOT NULL,
    arrival     integer      NOT NULL,
    CONSTRAINT refusals_pkey PRIMARY KEY (game_id, refusal_id),
    CONSTRAINT refusals_short CHECK (octet_length(sealed) <= 262144)
);
CREATE INDEX refusals_by_age ON refusals (at);
COMMENT ON TABLE refusals IS
    'Refused moves, encrypted by the service, because they name cards that the player may hold. '
    '`arrival` numbers the attempts of a game.';
COMMENT ON INDEX refusals_by_age IS 'Refused moves are deleted by age.';

CREATE TABLE readings (
    game_id     uuid         NOT NULL,
    reading_id  uuid         NOT NULL DEFAULT gen_random_uuid(),
    at          timestamptz  NOT NULL,
    reader      uuid,
    what        text         NOT NULL,
    version     integer,
    CONSTRAINT readings_pkey PRIMARY KEY (game_id, reading_id),
    CONSTRAINT readings_short CHECK (octet_length(what) <= 1200)
);
CREATE INDEX readings_by_time ON readings (game_id, at, reading_id);
COMMENT ON TABLE readings IS
    'Access log: reads of a game''s private data by callers who do not own it.';
COMMENT ON COLUMN readings.reader IS 'player; null for a caller with the invite and no token';
COMMENT ON COLUMN readings.version IS 'of the game; null for an unknown game';

CREATE TABLE notes (
    game_id     uuid         NOT NULL,
    author      uuid         NOT NULL,
    seq         integer      NOT NULL,
    words       text         NOT NULL,
    visibility  text         NOT NULL,
    at          timestamptz  NOT NULL,
    CONSTRAINT notes_pkey PRIMARY KEY (game_id, author, seq),
    CONSTRAINT notes_short CHECK (octet_length(words) <= 4000),
    CONSTRAINT notes_have_a_visibility CHECK (visibility IN ('me', 'dispute'))
);
CREATE INDEX notes_by_author ON notes (author);
COMMENT ON TABLE notes IS
    'Notes of players on events of a game: outside the record, deleted with the player.';
COMMENT ON COLUMN notes.visibility IS
    'me: the author alone; dispute: also the seats of the game and the referees of its disputes';

CREATE TABLE blocks (
    player   uuid         NOT NULL,
    blocked  uuid         NOT NULL,
    at       timestamptz  NOT NULL,
    CONSTRAINT blocks_pkey PRIMARY KEY (player, blocked),
    CONSTRAINT blocks_name_another CHECK (player <> blocked)
);
CREATE INDEX blocks_by_blocked ON blocks (blocked);
COMMENT ON TABLE blocks IS
    'Players whom a player does not want beside them: no invitation or seek seats them together.';
COMMENT ON COLUMN blocks.player IS 'who blocks, and alone may see it';

CREATE TABLE invitations (
    table_id     uuid         NOT NULL,
    player       uuid         NOT NULL,
    at           timestamptz  NOT NULL,
    declined_at  timestamptz,
    CONSTRAINT invitations_pkey PRIMARY KEY (table_id, player)
);
CREATE INDEX invitations_by_player ON invitations (player);
COMMENT ON TABLE invitations IS
    'Invitations of players to tables by their hosts: outside the streams. A row ends with the '
    'player''s seat, with the table, and if the host withdraws it.';
COMMENT ON COLUMN invitations.declined_at IS 'null while it is open';

CREATE TABLE challenges (
    table_id    uuid         NOT NULL,
    challenger  uuid         NOT NULL,
    player      uuid         NOT NULL,
    state       text         NOT NULL,
    created_at  timestamptz  NOT NULL,
    expires_at  timestamptz  NOT NULL,
    CONSTRAINT challenges_pkey PRIMARY KEY (table_id),
    CONSTRAINT challenges_name_another CHECK (challenger <> player),
    CONSTRAINT challenges_state_known CHECK (
        state IN ('open', 'accepted', 'declined', 'withdrawn', 'expired')
    )
);
CREATE INDEX challenges_by_challenger ON challenges (challenger, created_at DESC);
CREATE INDEX challenges_by_player ON challenges (player, created_at DESC);
CREATE INDEX challenges_by_end ON challenges (expires_at);
CREATE INDEX challenges_to_expire ON challenges (expires_at) WHERE state = 'open';
COMMENT ON TABLE challenges IS
    'Challenges of players by others: a table that was opened for one player, who is invited. Deleted a '
    'day after their end, and with either player.';
COMMENT ON COLUMN challenges.challenger IS 'the host of the table';
COMMENT ON COLUMN challenges.state IS 'an open one is over once it has expired, also before it is set so';

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
COMMENT ON VIEW open_invitations IS
    'Invitations that their player may see: no player at the table blocks that player, or is blocked.';

CREATE TABLE seeks (
    seek_id       uuid         NOT NULL,
    player_id     uuid         NOT NULL,
    rulesets      text[]       NOT NULL,
    seats         integer      NOT NULL,
    turn_seconds  integer,
    swap_seconds  integer,
    reserve_seconds integer,
    entropy       text         NOT NULL,
    only_stayers  boolean      NOT NULL,
    standing      text         NOT NULL,
    key           text,
    fill_after    integer,
    keep          boolean NOT NULL,
    created_at    timestamptz  NOT NULL,
    expires_at    timestamptz  NOT NULL,
    ended_at      timestamptz,
    table_id      uuid,
    CONSTRAINT seeks_pkey PRIMARY KEY (seek_id),
    CONSTRAINT seeks_short CHECK (
        cardinality(rulesets) <= 30 AND octet_length(key) <= 100 AND standing IN ('stays', 'mixed', 'leaves')
    ),
    CONSTRAINT seeks_have_rulesets CHECK (cardinality(rulesets) > 0),
    CONSTRAINT seeks_with_a_table_have_ended CHECK (table_id IS NULL OR ended_at IS NOT NULL)
);
CREATE INDEX seeks_open ON seeks (expires_at) WHERE ended_at IS NULL;
CREATE INDEX seeks_by_player ON seeks (player_id);
COMMENT ON TABLE seeks IS
    'Wishes of players for a table with anybody; deleted a day after their end, and with the player.';
COMMENT ON COLUMN seeks.rulesets IS 'any of them will do, the preferred one first';
COMMENT ON COLUMN seeks.turn_seconds IS 'the clock, with swap_seconds and reserve_seconds; null for none';
COMMENT ON COLUMN seeks.only_stayers IS 'whether all others at the table must have the standing `stays`';
COMMENT ON COLUMN seeks.standing IS 'stays, mixed, leaves: of the player when it was posted';
COMMENT ON COLUMN seeks.key IS 'public key of the seat';
COMMENT ON COLUMN seeks.keep IS
    'stays open if another seek of the player is matched';
COMMENT ON COLUMN seeks.fill_after IS
    'seconds after created_at at which bots take the empty seats; null: never';
COMMENT ON COLUMN seeks.expires_at IS 'an open seek expires then, unless it is renewed';
COMMENT ON COLUMN seeks.ended_at IS 'matched or withdrawn; null: open or expired';
COMMENT ON COLUMN seeks.table_id IS 'the table of a matched seek';

CREATE TABLE webhooks (
    player_id      uuid         NOT NULL,
    token_id       uuid         NOT NULL,
    url            text         NOT NULL,
    types          text[]       NOT NULL,
    origin         text         NOT NULL,
    key_id         text         NOT NULL,
    secret         bytea        NOT NULL,
    state          text         NOT NULL,
    fault          text,
    status         integer,
    failures       integer      NOT NULL DEFAULT 0,
    failing_since  timestamptz,
    created_at     timestamptz  NOT NULL,
    delivered_at   timestamptz,
    due_at         timestamptz  NOT NULL,
    claim          integer      NOT NULL DEFAULT 0,
    claimed_until  timestamptz,
    tables         uuid[]       NOT NULL DEFAULT '{}',
    games          uuid[]       NOT NULL DEFAULT '{}',
    looked_at      timestamptz,
    CONSTRAINT webhooks_pkey PRIMARY KEY (player_id),
    CONSTRAINT webhooks_short CHECK (
        octet_length(url) <= 2000 AND octet_length(origin) <= 2000 AND octet_length(secret) <= 1000
    ),
    CONSTRAINT webhooks_state_known CHECK (state IN ('waiting', 'on', 'off'))
);
CREATE INDEX webhooks_due ON webhooks (due_at) WHERE state <> 'off';
COMMENT ON TABLE webhooks IS
    'The receiver that a player named for the own events: one a player, replaced by a new one.';
COMMENT ON COLUMN webhooks.looked_at IS 'time of the last look, for what began and ended since';
COMMENT ON COLUMN webhooks.token_id IS 'the token that set it, or that replaced this one; it ends with it';
COMMENT ON COLUMN webhooks.url IS 'personal data, deleted with the player';
COMMENT ON COLUMN webhooks.types IS 'of the own stream; no check, so that a new type needs no migration';
COMMENT ON COLUMN webhooks.origin IS
    'keyed hash of the network address that set it: what is done for one address at a time is limited';
COMMENT ON COLUMN webhooks.key_id IS 'of a key in the key file';
COMMENT ON COLUMN webhooks.secret IS 'encrypted, bound to the player; it signs every request';
COMMENT ON COLUMN webhooks.state IS 'waiting for the echo of its ping, on, or off until it is set again';
COMMENT ON COLUMN webhooks.fault IS 'code of the last failed attempt; null after a success';
COMMENT ON COLUMN webhooks.status IS 'HTTP status of the last failed attempt; null without an answer';
COMMENT ON COLUMN webhooks.failures IS 'failed attempts in a row; 0: none fails';
COMMENT ON COLUMN webhooks.failing_since IS 'of the first of these';
COMMENT ON COLUMN webhooks.delivered_at IS 'of the last success; null before the first';
COMMENT ON COLUMN webhooks.due_at IS 'when a worker looks next for something to send';
COMMENT ON COLUMN webhooks.claim IS 'number of the last claim, named by whatever is stored under it';
COMMENT ON COLUMN webhooks.claimed_until IS 'a worker holds the claim until then; null: none does';
COMMENT ON COLUMN webhooks.tables IS 'open at the last look: their ends are sent';
COMMENT ON COLUMN webhooks.games IS 'running at the last look: their ends are sent';

CREATE TABLE webhook_deliveries (
    player_id  uuid         NOT NULL,
    type       text         NOT NULL,
    id         uuid         NOT NULL,
    mark       integer      NOT NULL,
    body       text         NOT NULL,
    found_at   timestamptz  NOT NULL,
    sent_at    timestamptz,
    CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (player_id, type, id),
    CONSTRAINT webhook_deliveries_short CHECK (octet_length(body) <= 65536)
);
COMMENT ON TABLE webhook_deliveries IS
    'The newest notice of each type and object that a webhook has to be, or was, sent while it is open.';
COMMENT ON COLUMN webhook_deliveries.type IS 'of the own stream';
COMMENT ON COLUMN webhook_deliveries.id IS 'the game, table or dispute';
COMMENT ON COLUMN webhook_deliveries.mark IS 'a notice with a higher one is newer';
COMMENT ON COLUMN webhook_deliveries.body IS 'the JSON that is signed; equal at each attempt';
COMMENT ON COLUMN webhook_deliveries.found_at IS 'the time that the body states';
COMMENT ON COLUMN webhook_deliveries.sent_at IS 'when the receiver accepted it; null: not yet';

CREATE TABLE disputes (
    dispute_id  uuid         NOT NULL,
    game_id     uuid         NOT NULL,
    version     integer      NOT NULL,
    state       text         NOT NULL,
    accuser     uuid         NOT NULL,
    accused     uuid,
    partner     uuid,
    charge      text         NOT NULL,
    verdict     text,
    opened_at   timestamptz  NOT NULL,
    found_at    integer      NOT NULL DEFAULT 0,
    wake_at     timestamptz,
    move        integer,
    proven      boolean,
    withdrawn   boolean,
    CONSTRAINT disputes_pkey PRIMARY KEY (dispute_id),
    CONSTRAINT disputes_state_known CHECK (
        state IN ('open', 'voting', 'revealing', 'ruled', 'appealed', 'final')
    ),
    CONSTRAINT disputes_verdict_known CHECK (verdict IN ('cad', 'cleared')),
    CONSTRAINT disputes_of_a_move_or_a_pair CHECK ((move IS NULL) = (partner IS NOT NULL))
) WITH (fillfactor = 70);
CREATE INDEX disputes_by_game ON disputes (game_id, opened_at DESC, dispute_id DESC);
CREATE INDEX disputes_by_accuser ON disputes (accuser);
CREATE INDEX disputes_by_accused ON disputes (accused);
CREATE INDEX disputes_running ON disputes (wake_at) WHERE state <> 'final';
CREATE INDEX disputes_by_partner ON disputes (partner) WHERE partner IS NOT NULL;
CREATE UNIQUE INDEX disputes_one_running ON disputes (
    game_id, charge, move, (CASE WHEN partner IS NOT NULL THEN accused END), partner
) NULLS NOT DISTINCT WHERE state <> 'final';
CREATE UNIQUE INDEX disputes_made_once ON disputes (
    game_id, accuser, charge, move, (CASE WHEN partner IS NOT NULL THEN accused END), partner
) NULLS NOT DISTINCT WHERE state <> 'final' OR withdrawn;
CREATE INDEX disputes_by_time ON disputes (opened_at DESC, dispute_id DESC);
COMMENT ON TABLE disputes IS
    'A summary of a dispute. Texts and names are not in its stream, so that they can be erased; '
    'the stream has commitments to the texts. The frozen evidence is the public bundle, which has '
    'no secret.';
COMMENT ON COLUMN disputes.accuser IS 'player';
COMMENT ON COLUMN disputes.accused IS 'player; null for a bot or the server';
COMMENT ON COLUMN disputes.verdict IS 'of the newest ruling';
COMMENT ON COLUMN disputes.found_at IS 'version of the game at which the findings were made';
COMMENT ON COLUMN disputes.wake_at IS 'end of the next period';
COMMENT ON COLUMN disputes.partner IS 'player with whom the accused colluded; null for other charges';
COMMENT ON COLUMN disputes.move IS 'first event of the move; null for collusion';
COMMENT ON COLUMN disputes.withdrawn IS 'the accuser withdrew it, and cannot make the same charge again';
COMMENT ON COLUMN disputes.proven IS 'the newest ruling is against the server';

CREATE TABLE dispute_referees (
    dispute_id  uuid     NOT NULL,
    referee     integer  NOT NULL,
    player_id   uuid     NOT NULL,
    recused     boolean  NOT NULL,
    ruled       boolean  NOT NULL DEFAULT false,
    CONSTRAINT dispute_referees_pkey PRIMARY KEY (dispute_id, referee)
);
CREATE INDEX dispute_referees_by_player ON dispute_referees (player_id);
COMMENT ON TABLE dispute_referees IS 'The referees of a dispute.';
COMMENT ON COLUMN dispute_referees.referee IS 'number within the dispute';
COMMENT ON COLUMN dispute_referees.ruled IS 'the vote counted in a ruling';

CREATE TABLE dispute_texts (
    dispute_id  uuid     NOT NULL,
    seq         integer  NOT NULL,
    author      uuid     NOT NULL,
    salt        bytea,
    words       text,
    CONSTRAINT dispute_texts_pkey PRIMARY KEY (dispute_id, seq),
    CONSTRAINT dispute_texts_short CHECK (octet_length(words) <= 16000)
);
CREATE INDEX dispute_texts_by_author ON dispute_texts (author);
COMMENT ON TABLE dispute_texts IS
    'Statements of the sides. Text and salt are deleted when their author is erased.';
COMMENT ON COLUMN dispute_texts.seq IS 'the event with the commitment';
COMMENT ON COLUMN dispute_texts.author IS 'player';

CREATE TABLE dispute_bundles (
    dispute_id  uuid   NOT NULL,
    bundle      bytea  NOT NULL,
    CONSTRAINT dispute_bundles_pkey PRIMARY KEY (dispute_id)
);
COMMENT ON TABLE dispute_bundles IS
    'The evidence as of the opening of the dispute; its SHA-256 is in the stream.';

CREATE TABLE dispute_findings (
    dispute_id  uuid     NOT NULL,
    found_at    integer  NOT NULL,
    key_id      text     NOT NULL,
    sealed      bytea    NOT NULL,
    CONSTRAINT dispute_findings_pkey PRIMARY KEY (dispute_id, found_at),
    CONSTRAINT dispute_findings_short CHECK (octet_length(sealed) <= 2097152)
);
COMMENT ON TABLE dispute_findings IS 'Findings of the verifier, encrypted by the service.';
COMMENT ON COLUMN dispute_findings.found_at IS 'the game''s version';

CREATE TABLE dispute_votes (
    dispute_id     uuid     NOT NULL,
    referee        integer  NOT NULL,
    key_id         text     NOT NULL,
    sealed         bytea    NOT NULL,
    reason_key_id  text,
    reason         bytea,
    CONSTRAINT dispute_votes_pkey PRIMARY KEY (dispute_id, referee),
    CONSTRAINT dispute_votes_short CHECK (octet_length(sealed) <= 1000 AND octet_length(reason) <= 8000)
);
COMMENT ON TABLE dispute_votes IS
    'Votes that the server sealed, encrypted by the service; deleted with the ruling.';
COMMENT ON COLUMN dispute_votes.referee IS 'number within the dispute';
COMMENT ON COLUMN dispute_votes.reason IS
    'encrypted, of one length for all votes; null once the referee is erased';

CREATE VIEW unused_players AS
SELECT p.player_id, p.created_at
FROM players p
WHERE p.erased_at IS NULL
    AND NOT EXISTS (SELECT FROM game_seats s WHERE s.player_id = p.player_id)
    AND NOT EXISTS (SELECT FROM table_seats s WHERE s.player_id = p.player_id)
    AND NOT EXISTS (SELECT FROM tables t WHERE t.host = p.player_id)
    AND NOT EXISTS (SELECT FROM rulesets_custom r WHERE r.owner = p.player_id)
    AND NOT EXISTS (SELECT FROM disputes d WHERE d.accuser = p.player_id)
    AND NOT EXISTS (SELECT FROM dispute_referees r WHERE r.player_id = p.player_id)
    AND NOT EXISTS (SELECT FROM seeks s WHERE s.player_id = p.player_id AND s.ended_at IS NULL);
COMMENT ON VIEW unused_players IS
    'Players who were never active: no seat, no table, no ruleset, no part in a dispute.';

CREATE TABLE shuffled_decks (
    game_id     uuid         NOT NULL,
    ruleset_id  text         NOT NULL,
    aborted     boolean      NOT NULL,
    deck        text         NOT NULL,
    dealt       integer      NOT NULL,
    to_people   jsonb        NOT NULL,
    ended_at    timestamptz  NOT NULL,
    CONSTRAINT shuffled_decks_pkey PRIMARY KEY (game_id)
);
CREATE INDEX shuffled_decks_by_age ON shuffled_decks (ended_at, game_id);
COMMENT ON TABLE shuffled_decks IS
    'Data for statistics, taken once from the logs of finished games, from which they can be '
    'computed again. A row is inserted in the transaction that deletes the outbox row that '
    'requested it, so no game is counted twice or left out.';
COMMENT ON COLUMN shuffled_decks.deck IS 'codes in order, with a space between';
COMMENT ON COLUMN shuffled_decks.dealt IS 'cards that left the deck in the deal';
COMMENT ON COLUMN shuffled_decks.to_people IS 'positions dealt to seats of players';

CREATE TABLE blind_choices (
    game_id    uuid         NOT NULL,
    seq        integer      NOT NULL,
    player_id  uuid         NOT NULL,
    slots      integer      NOT NULL,
    playable   integer      NOT NULL,
    fitted     boolean      NOT NULL,
    ended_at   timestamptz  NOT NULL,
    CONSTRAINT blind_choices_pkey PRIMARY KEY (game_id, seq)
);
CREATE INDEX blind_choices_by_player ON blind_choices (player_id, ended_at, game_id, seq);
COMMENT ON TABLE blind_choices IS
    'Data for statistics, like shuffled_decks: choices among face-down cards.';
COMMENT ON COLUMN blind_choices.slots IS 'face-down cards to choose from';
COMMENT ON COLUMN blind_choices.playable IS 'of these, cards that fitted';
COMMENT ON COLUMN blind_choices.fitted IS 'whether the chosen card fitted';

CREATE TABLE ratings (
    ruleset_id  text              NOT NULL,
    rated       text              NOT NULL,
    player_id   uuid,
    mu          double precision  NOT NULL,
    sigma       double precision  NOT NULL,
    hands       integer           NOT NULL,
    CONSTRAINT ratings_pkey PRIMARY KEY (ruleset_id, rated),
    CONSTRAINT ratings_hands_positive CHECK (hands > 0)
);
CREATE INDEX ratings_by_value ON ratings (ruleset_id, (mu - 3 * sigma) DESC, rated);
CREATE INDEX ratings_by_player ON ratings (player_id) WHERE player_id IS NOT NULL;
COMMENT ON TABLE ratings IS
    'Ratings of players and bots, computed from public hands in the order of the public log. A player '
    'who is erased has none, and after an erasure or a final ruling all are computed again.';
COMMENT ON COLUMN ratings.rated IS 'the id of a player, or bot:<name>';
COMMENT ON COLUMN ratings.player_id IS 'null for a bot';
COMMENT ON COLUMN ratings.mu IS 'the mean of the skill';
COMMENT ON COLUMN ratings.sigma IS 'its standard deviation';
COMMENT ON COLUMN ratings.hands IS 'rated hands';

CREATE TABLE ratings_reached (
    one         boolean  NOT NULL DEFAULT true,
    leaves      bigint   NOT NULL DEFAULT 0,
    erased      bigint   NOT NULL DEFAULT 0,
    rulings     bigint   NOT NULL DEFAULT 0,
    erased_now  bigint   NOT NULL DEFAULT 0,
    CONSTRAINT ratings_reached_pkey PRIMARY KEY (one),
    CONSTRAINT ratings_reached_has_one_row CHECK (one)
);
COMMENT ON TABLE ratings_reached IS 'What the ratings are computed from: one row.';
COMMENT ON COLUMN ratings_reached.leaves IS 'leaves of the public log that are counted';
COMMENT ON COLUMN ratings_reached.erased IS 'erased players with public hands then';
COMMENT ON COLUMN ratings_reached.erased_now IS 'erased players with public hands now';
COMMENT ON COLUMN ratings_reached.rulings IS 'final rulings against a cad then';
INSERT INTO ratings_reached DEFAULT VALUES;

CREATE TABLE decisions (
    leaf    integer    NOT NULL,
    event   integer    NOT NULL,
    took    integer,
    seat    smallint   NOT NULL,
    codes   integer[]  NOT NULL,
    CONSTRAINT decisions_pkey PRIMARY KEY (leaf, event)
);
CREATE INDEX decisions_by_code ON decisions USING gin (codes);
COMMENT ON TABLE decisions IS
    'Decisions of sealed public hands, by which a position is found; computed from the public log. Who decided is '
    'a number of decision_names, which an erasure deletes.';
COMMENT ON COLUMN decisions.leaf IS 'the leaf of the end of the hand';
COMMENT ON COLUMN decisions.event IS 'the first event of the move';
COMMENT ON COLUMN decisions.took IS 'milliseconds of the turn; null if it was none';
COMMENT ON COLUMN decisions.codes IS
    'each value of the position and of the choice as a number of its own range (service/store/decisions.py)';

CREATE TABLE decision_names (
    number     integer  NOT NULL,
    name       text     NOT NULL,
    player_id  uuid,
    CONSTRAINT decision_names_pkey PRIMARY KEY (number),
    CONSTRAINT decision_names_once UNIQUE (name),
    CONSTRAINT decision_names_short CHECK (octet_length(name) <= 200)
);
CREATE INDEX decision_names_by_player ON decision_names (player_id) WHERE player_id IS NOT NULL;
COMMENT ON TABLE decision_names IS
    'Numbers of rulesets, bots, players, choices and hands of up to five cards, as decisions have them.';
COMMENT ON COLUMN decision_names.name IS 'such as ruleset:leeds, bot:greedy or choice:play 7 x2';

CREATE TABLE decisions_reached (
    one     boolean  NOT NULL DEFAULT true,
    leaves  bigint   NOT NULL DEFAULT 0,
    CONSTRAINT decisions_reached_pkey PRIMARY KEY (one),
    CONSTRAINT decisions_reached_has_one_row CHECK (one)
);
COMMENT ON TABLE decisions_reached IS 'How many leaves of the public log the decisions are from: one row.';
INSERT INTO decisions_reached DEFAULT VALUES;

CREATE TABLE log_leaves (
    leaf_index  bigint       NOT NULL,
    game_id     uuid         NOT NULL,
    version     integer      NOT NULL,
    data        bytea        NOT NULL,
    added_at    timestamptz  NOT NULL,
    CONSTRAINT log_leaves_pkey PRIMARY KEY (leaf_index),
    CONSTRAINT log_leaves_once UNIQUE (game_id, version),
    CONSTRAINT log_leaves_fit_a_bundle CHECK (octet_length(data) < 65536)
);
COMMENT ON TABLE log_leaves IS
    'The public log: one Merkle tree over all games, its tiles, heads and signatures. There is '
    'one writer at a time, and leaves are only added, so a head always matches the first `size` '
    'leaves. A head is inserted with its newest leaves and signed afterwards, so that no tree is '
    'signed that is not stored.';
COMMENT ON COLUMN log_leaves.leaf_index IS 'from 0, without gaps';
COMMENT ON COLUMN log_leaves.version IS 'of the game; its head at this version is in the leaf';
COMMENT ON COLUMN log_leaves.data IS 'the body of a receipt';

CREATE TABLE log_hashes (
    level     integer  NOT NULL,
    position  bigint   NOT NULL,
    hash      bytea    NOT NULL,
    CONSTRAINT log_hashes_pkey PRIMARY KEY (level, position),
    CONSTRAINT log_hashes_is_hash CHECK (octet_length(hash) = 32)
);
COMMENT ON TABLE log_hashes IS
    'The hashes in tiles: at level 0 those of the leaves, above it one for each full tile below.';
COMMENT ON COLUMN log_hashes.position IS 'within the level, from 0';

CREATE TABLE log_heads (
    size     bigint       NOT NULL,
    root     bytea        NOT NULL,
    made_at  timestamptz  NOT NULL,
    note     bytea,
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
COMMENT ON TABLE log_heads IS
    'The tree after each batch. `note` is null until it is signed; the newest signed head is '
    'served.';
COMMENT ON COLUMN log_heads.note IS 'the checkpoint, signed by the log';
-- The tree before the first leaf.
INSERT INTO log_heads (size, root, made_at) VALUES (0, sha256(''), now());

CREATE TABLE log_cosignatures (
    size      bigint       NOT NULL,
    witness   text         NOT NULL,
    line      text         NOT NULL,
    added_at  timestamptz  NOT NULL DEFAULT now(),
    CONSTRAINT log_cosignatures_pkey PRIMARY KEY (size, witness)
);
CREATE INDEX log_cosignatures_by_witness ON log_cosignatures (witness, size DESC);
COMMENT ON TABLE log_cosignatures IS
    'Cosignatures of checkpoints by witnesses. They are never deleted, because they are evidence '
    'if the log ever shows different trees to different readers.';
COMMENT ON COLUMN log_cosignatures.witness IS 'its key: name+id+key';
COMMENT ON COLUMN log_cosignatures.line IS 'the signature line';

CREATE TABLE log_time_stamps (
    size        bigint       NOT NULL,
    authority   text         NOT NULL,
    stamped_at  timestamptz  NOT NULL,
    added_at    timestamptz  NOT NULL,
    answer      bytea        NOT NULL,
    CONSTRAINT log_time_stamps_pkey PRIMARY KEY (size, authority),
    CONSTRAINT log_time_stamps_authority_length CHECK (length(authority) <= 500),
    CONSTRAINT log_time_stamps_are_small CHECK (octet_length(answer) <= 32768)
);
COMMENT ON TABLE log_time_stamps IS
    'Answers of a time-stamp authority (RFC 3161) over the text of a checkpoint: one a day, and one '
    'after a dispute was opened, with at least five minutes between two.';
COMMENT ON COLUMN log_time_stamps.authority IS 'its address';
COMMENT ON COLUMN log_time_stamps.stamped_at IS 'the time in the token';
COMMENT ON COLUMN log_time_stamps.answer IS 'a TimeStampResp in DER';

CREATE TABLE log_damage (
    part      text         NOT NULL,
    place     text         NOT NULL,
    reason    text         NOT NULL,
    found_at  timestamptz  NOT NULL DEFAULT now(),
    CONSTRAINT log_damage_pkey PRIMARY KEY (part, place)
);
COMMENT ON TABLE log_damage IS
    'What is not as it was signed in the stored public log, found by reading it again; removed once '
    'the part is whole. At most 1,000 rows.';
COMMENT ON COLUMN log_damage.part IS 'what is read at a time: a tile, or the newest checkpoint';
COMMENT ON COLUMN log_damage.place IS 'the row: a leaf, a hash by level and position, a head';
COMMENT ON COLUMN log_damage.reason IS 'how it differs, for the operator';

CREATE TABLE trail (
    entry_id  uuid         NOT NULL DEFAULT gen_random_uuid(),
    at        timestamptz  NOT NULL,
    operator  text         NOT NULL,
    act       text         NOT NULL,
    target    uuid,
    outcome   text         NOT NULL,
    CONSTRAINT trail_pkey PRIMARY KEY (entry_id),
    CONSTRAINT trail_says_who CHECK (operator <> '')
);
CREATE INDEX trail_by_age ON trail (at DESC, entry_id DESC);
COMMENT ON TABLE trail IS
    'Actions of operators with `shithead admin`. Rows are only added. Players appear here by id '
    'only, so an erasure in `players` covers these rows too.';
COMMENT ON COLUMN trail.operator IS 'the system user, or the value of --as';
COMMENT ON COLUMN trail.act IS 'the command: rename, abort, archive, …';
COMMENT ON COLUMN trail.target IS 'the player, table or game; null if there is none';
COMMENT ON COLUMN trail.outcome IS 'done, or why it was refused';

CREATE TABLE availability (
    one         boolean      NOT NULL DEFAULT true,
    seen_at     timestamptz  NOT NULL,
    able_since  timestamptz,
    CONSTRAINT availability_pkey PRIMARY KEY (one),
    CONSTRAINT availability_has_one_row CHECK (one)
);
COMMENT ON TABLE availability IS
    'When the service could take moves, so that clocks give back the time of an outage: one row, '
    'written every second by the sweepers. A gap in `seen_at` is an outage. All times are of the '
    'clock of the database, so that sweepers on several machines agree.';
COMMENT ON COLUMN availability.seen_at IS 'the last sign of life';
COMMENT ON COLUMN availability.able_since IS 'the end of the last outage; null before the first one';

CREATE TABLE write_probes (
    filler  text  NOT NULL
) WITH (toast_tuple_target = 8160, autovacuum_vacuum_threshold = 100, autovacuum_vacuum_scale_factor = 0);
COMMENT ON TABLE write_probes IS
    'The probe of readiness writes here as a move writes to the record, and deletes its row again. '
    'Each probe extends the file of the table, which a full disk refuses.';
COMMENT ON COLUMN write_probes.filler IS 'more than half a page, stored uncompressed';
