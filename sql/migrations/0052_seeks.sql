-- Seeks: wishes of players for a table with anybody. One that is open has neither ended nor expired.
CREATE TABLE seeks (
    seek_id       uuid         NOT NULL,
    player_id     uuid         NOT NULL,
    rulesets      text[]       NOT NULL,
    seats         integer      NOT NULL,
    turn_seconds  integer,
    swap_seconds  integer,
    entropy       text         NOT NULL,
    key           text,
    fill_after    integer,
    created_at    timestamptz  NOT NULL,
    expires_at    timestamptz  NOT NULL,
    ended_at      timestamptz,
    table_id      uuid,
    CONSTRAINT seeks_pkey PRIMARY KEY (seek_id),
    CONSTRAINT seeks_have_rulesets CHECK (cardinality(rulesets) > 0),
    CONSTRAINT seeks_with_a_table_have_ended CHECK (table_id IS NULL OR ended_at IS NOT NULL)
);
CREATE INDEX seeks_open ON seeks (expires_at) WHERE ended_at IS NULL;
CREATE INDEX seeks_by_player ON seeks (player_id);

-- A player who seeks a table is not unused.
CREATE OR REPLACE VIEW unused_players AS
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
