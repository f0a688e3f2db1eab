-- Availability: when the service could take moves, so that clocks give back the time of an outage.
--
-- One row, written every second by the sweepers; a gap in `seen_at` is an outage. All times are of
-- the database's clock, so that sweepers on several machines agree.
CREATE TABLE availability (
    one         boolean      NOT NULL DEFAULT true,
    seen_at     timestamptz  NOT NULL,  -- the last sign of life
    able_since  timestamptz,            -- the end of the last outage; null before the first one
    CONSTRAINT availability_pkey PRIMARY KEY (one),
    CONSTRAINT availability_has_one_row CHECK (one)
);

-- An upgrade is an outage for the games that wait during it.
INSERT INTO availability (seen_at) SELECT '1970-01-01 00:00:00+00' WHERE EXISTS (SELECT FROM games);
