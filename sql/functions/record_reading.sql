-- record_reading: add a read of private data to the access log, unless it repeats one.
--
-- A repetition has the same reader, resource and version of the game, within a minute. Without this
-- rule a polling client would fill the disk.
CREATE OR REPLACE FUNCTION record_reading(
    game uuid, read_at timestamptz, its_reader uuid, what_was_read text
) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    INSERT INTO readings (game_id, at, reader, what, version)
    SELECT game, read_at, its_reader, what_was_read, present.version
    FROM (SELECT max(g.version) AS version FROM games g WHERE g.game_id = game) present
    WHERE NOT EXISTS (
        SELECT FROM readings r
        WHERE r.game_id = game
            AND r.at > read_at - interval '1 minute'
            AND r.what = what_was_read
            AND r.reader IS NOT DISTINCT FROM its_reader
            AND r.version IS NOT DISTINCT FROM present.version
    )
$$;
