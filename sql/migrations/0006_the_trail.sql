-- The trail: what operators did with `shithead admin`. Rows are only ever added.
--
-- People are numbers here, as everywhere but in `players`: who is erased there is erased here too.

CREATE TABLE trail (
    entry_id  uuid         NOT NULL DEFAULT gen_random_uuid(),
    at        timestamptz  NOT NULL,
    operator  text         NOT NULL,  -- a user of the system, or what --as says
    act       text         NOT NULL,  -- the command: rename, abort, archive, …
    target    uuid,                   -- the player, table or game; null where none is meant
    outcome   text         NOT NULL,  -- done, or why it was refused
    CONSTRAINT trail_pkey PRIMARY KEY (entry_id),
    CONSTRAINT trail_says_who CHECK (operator <> '')
);
CREATE INDEX trail_by_age ON trail (at DESC, entry_id DESC);

-- Refused moves are forgotten by age.
CREATE INDEX refusals_by_age ON refusals (at);
