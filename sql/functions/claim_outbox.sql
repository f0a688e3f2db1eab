-- claim_outbox: delete and return the oldest rows of a topic; two relays never get the same row.
--
-- Returns none of the topics `log` and `statistics`: append_log and keep_facts delete these rows, with
-- what they ask for.
CREATE OR REPLACE FUNCTION claim_outbox(wanted text, most integer, before timestamptz)
RETURNS TABLE (stream_id uuid, version integer)
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    -- Materialized: as the inner side of a nested loop it would run, and lock, again for each row.
    WITH taken AS MATERIALIZED (
        SELECT c.stream_id, c.version, c.topic
        FROM outbox c
        WHERE c.topic = wanted AND c.topic NOT IN ('log', 'statistics') AND c.created_at < before
        ORDER BY c.created_at
        LIMIT most
        FOR UPDATE SKIP LOCKED
    )
    DELETE FROM outbox o
    USING taken
    WHERE (o.stream_id, o.version, o.topic) = (taken.stream_id, taken.version, taken.topic)
    RETURNING o.stream_id, o.version
$$;
