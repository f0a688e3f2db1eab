-- Webhooks: the receiver that a player named for the own events, and what it has been sent.
CREATE TABLE webhooks (
    player_id      uuid         NOT NULL,
    url            text         NOT NULL,
    types          text[]       NOT NULL,
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
    CONSTRAINT webhooks_pkey PRIMARY KEY (player_id),
    CONSTRAINT webhooks_state_known CHECK (state IN ('waiting', 'on', 'off'))
);

CREATE INDEX webhooks_due ON webhooks (due_at) WHERE state <> 'off';

CREATE TABLE webhook_deliveries (
    player_id  uuid         NOT NULL,
    type       text         NOT NULL,
    id         uuid         NOT NULL,
    mark       integer      NOT NULL,
    body       text         NOT NULL,
    found_at   timestamptz  NOT NULL,
    sent_at    timestamptz,
    CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (player_id, type, id)
);
