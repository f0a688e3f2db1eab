-- keep_time_stamp: store the answer of a time-stamp authority for a signed checkpoint; the first one stays.
--
-- Returns whether it was stored: false too if the tree is unknown or not signed, or if a token was stored
-- within the last five minutes, so that the table grows by at most 288 rows a day.
CREATE OR REPLACE FUNCTION keep_time_stamp(
    of_size bigint, by_authority text, at timestamptz, added timestamptz, response bytea
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    INSERT INTO log_time_stamps (size, authority, stamped_at, added_at, answer)
    SELECT h.size, by_authority, at, added, response
    FROM log_heads h
    WHERE h.size = of_size AND h.note IS NOT NULL
        AND NOT EXISTS (SELECT FROM log_time_stamps s WHERE s.added_at > added - interval '5 minutes')
    ON CONFLICT ON CONSTRAINT log_time_stamps_pkey DO NOTHING;
    RETURN FOUND;
END
$$;
