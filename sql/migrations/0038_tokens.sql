-- Tokens: several a player, each with a name, scopes and, if it was issued so, an end.
--
-- The token of each player becomes one with all scopes. `players.token_hash` remains for processes of
-- earlier releases, which know one token a player: the newest that has all scopes and no end.
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
    CONSTRAINT tokens_id_unique UNIQUE (token_id),
    CONSTRAINT tokens_scopes_known CHECK (
        cardinality(scopes) > 0 AND scopes <@ ARRAY['read', 'play', 'dispute', 'account']
    )
);

CREATE INDEX tokens_by_player ON tokens (player_id);

INSERT INTO tokens (token_id, token_hash, player_id, name, scopes, created_at)
SELECT
    gen_random_uuid(), p.token_hash, p.player_id, 'registration',
    ARRAY['read', 'play', 'dispute', 'account'], p.created_at
FROM players p
WHERE p.token_hash IS NOT NULL;
