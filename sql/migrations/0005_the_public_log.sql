-- The public log: one Merkle tree over all games, its tiles, its heads and who signed them.
--
-- There is one writer at a time, and rows are only ever added: what a head says of the leaves
-- before it stays true for ever. A head is written together with the leaves that make it, and
-- signed afterwards, so that no signature can stand under a tree that is not here.

CREATE TABLE log_leaves (
    leaf_index  bigint       NOT NULL,  -- from 0, without gaps
    game_id     uuid         NOT NULL,
    version     integer      NOT NULL,  -- of the game's log that the leaf names the head of
    data        bytea        NOT NULL,  -- the body of a receipt
    added_at    timestamptz  NOT NULL,
    CONSTRAINT log_leaves_pkey PRIMARY KEY (leaf_index),
    CONSTRAINT log_leaves_once UNIQUE (game_id, version),
    CONSTRAINT log_leaves_fit_a_bundle CHECK (octet_length(data) < 65536)
);

-- The hashes that stand in tiles: level 0 the leaves, above it one for each full tile below.
CREATE TABLE log_hashes (
    level     integer  NOT NULL,
    position  bigint   NOT NULL,  -- within the level, from 0
    hash      bytea    NOT NULL,
    CONSTRAINT log_hashes_pkey PRIMARY KEY (level, position),
    CONSTRAINT log_hashes_is_hash CHECK (octet_length(hash) = 32)
);

-- The tree after each batch. A head has its note once it is signed; the newest signed one is served.
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

-- What witnesses put under a checkpoint: evidence against a second tree, so it stays.
CREATE TABLE log_cosignatures (
    size     bigint       NOT NULL,
    witness  text         NOT NULL,  -- its key: name+id+key
    line     text         NOT NULL,  -- the signature line
    added_at timestamptz  NOT NULL DEFAULT now(),
    CONSTRAINT log_cosignatures_pkey PRIMARY KEY (size, witness)
);
CREATE INDEX log_cosignatures_by_witness ON log_cosignatures (witness, size DESC);

-- Games that may need a leaf in between.
CREATE INDEX games_running ON games (game_id) WHERE status IN ('shuffling', 'swapping', 'playing');

-- The tree before the first leaf.
INSERT INTO log_heads (size, root, made_at) VALUES (0, sha256(''), now());
