-- record_reading: add a read of private data to the access log, unless it repeats one.
--
-- A repetition has the same reader, resource and version of the game, within a minute. Without this
-- rule a polling client would fill the disk. SH429 if the reader has 5,000 records of the game
-- within an hour: then the read is refused, because a read without a record would be worse.
CREATE OR REPLACE FUNCTION record_reading(
    game uuid, read_at timestamptz, its_reader uuid, what_was_read text
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    present  integer := (SELECT max(g.version) FROM games g WHERE g.game_id = game);
BEGIN
    IF EXISTS (
        SELECT FROM readings r
        WHERE r.game_id = game
            AND r.at > read_at - interval '1 minute'
            AND r.what = what_was_read
            AND r.reader IS NOT DISTINCT FROM its_reader
            AND r.version IS NOT DISTINCT FROM present
    ) THEN
        RETURN;
    END IF;
    IF (
        SELECT count(*) FROM readings r
        WHERE r.game_id = game
            AND r.at > read_at - interval '1 hour'
            AND r.reader IS NOT DISTINCT FROM its_reader
    ) >= 5000 THEN
        RAISE EXCEPTION 'the reader has reached a quota'
            USING ERRCODE = 'SH429', DETAIL = 'readings';
    END IF;
    INSERT INTO readings (game_id, at, reader, what, version)
    VALUES (game, read_at, its_reader, what_was_read, present);
END
$$;
