-- The record itself: streams of events, what is kept beside a running game, what is told after a commit.
--
-- Every key starts with the stream, there is no sequence and no reference from one stream to
-- another: an append touches rows of its own streams only, so streams can be partitioned or
-- distributed by their id without a change here.

CREATE TABLE streams (
    stream_id  uuid     NOT NULL,
    kind       text     NOT NULL,  -- StreamKind; only games are public
    version    integer  NOT NULL,  -- number of events; what an append compares and sets
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

-- Streams that live on as bundles outside the database. Only what stands here may leave `events`.
CREATE TABLE archived (
    stream_id    uuid         NOT NULL,
    version      integer      NOT NULL,  -- of the whole stream
    head         bytea        NOT NULL,  -- of the whole stream
    bundle       bytea        NOT NULL,  -- SHA-256 of the bundle that holds it now
    archived_at  timestamptz  NOT NULL DEFAULT now(),
    CONSTRAINT archived_pkey PRIMARY KEY (stream_id),
    CONSTRAINT archived_bundle_is_hash CHECK (octet_length(bundle) = 32)
);

-- The server seeds of running games, encrypted by the service; gone with the seal.
CREATE TABLE secrets (
    game_id     uuid   NOT NULL,
    key_id      text   NOT NULL,  -- which key of the key file
    ciphertext  bytea  NOT NULL,  -- AES-256-GCM, the game id as associated data
    CONSTRAINT secrets_pkey PRIMARY KEY (game_id)
);

-- Answers to requests that carried an Idempotency-Key, encrypted by the service.
CREATE TABLE answers (
    caller       uuid         NOT NULL,
    request_key  bytea        NOT NULL,  -- SHA-256 over path and key
    body_hash    bytea        NOT NULL,  -- SHA-256 over the body
    sealed       bytea        NOT NULL,
    created_at   timestamptz  NOT NULL DEFAULT now(),
    CONSTRAINT answers_pkey PRIMARY KEY (caller, request_key)
);
CREATE INDEX answers_by_age ON answers (created_at);

-- What has to be told after the commit; a row leaves when somebody has taken it on.
CREATE TABLE outbox (
    stream_id   uuid         NOT NULL,
    version     integer      NOT NULL,  -- the stream's version after the commit
    topic       text         NOT NULL,  -- to whom
    created_at  timestamptz  NOT NULL DEFAULT now(),
    CONSTRAINT outbox_pkey PRIMARY KEY (stream_id, version, topic)
);
CREATE INDEX outbox_by_age ON outbox (topic, created_at);

-- The record as JSON, for people with a SQL prompt; derived, never the truth.
CREATE VIEW event_log AS
SELECT
    e.stream_id,
    e.seq,
    convert_from(e.line, 'UTF8')::jsonb AS event
FROM events e
JOIN streams s ON s.stream_id = e.stream_id
WHERE s.kind = 'game';
