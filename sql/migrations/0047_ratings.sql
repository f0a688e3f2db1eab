-- Ratings of players and bots in each ruleset, computed from the hands in the order of the public log.
--
-- They follow from `games`, `log_leaves`, `disputes` and `players`, and are computed again from the
-- first leaf when a player is erased or a final ruling is made: `ratings_reached` has the numbers of
-- both, and how many leaves are counted.
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

CREATE TABLE ratings_reached (
    one      boolean  NOT NULL  DEFAULT true,
    leaves   bigint   NOT NULL  DEFAULT 0,
    erased   bigint   NOT NULL  DEFAULT 0,
    rulings  bigint   NOT NULL  DEFAULT 0,
    CONSTRAINT ratings_reached_pkey PRIMARY KEY (one),
    CONSTRAINT ratings_reached_has_one_row CHECK (one)
);

INSERT INTO ratings_reached DEFAULT VALUES;
