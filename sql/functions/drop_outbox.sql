-- drop_outbox: delete rows of a topic that were passed on; returns how many.
--
-- Deletes none of the topics `log` and `statistics`: append_log and keep_facts delete these rows, with
-- what they ask for. Rows that another relay deletes at the same moment are left to it.
CREATE OR REPLACE FUNCTION drop_outbox(wanted text, streams uuid[], versions integer[]) RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH passed AS MATERIALIZED (
        SELECT c.stream_id, c.version, c.topic
        FROM outbox c
        JOIN unnest(streams, versions) p (stream_id, version)
            ON (c.stream_id, c.version) = (p.stream_id, p.version)
        WHERE c.topic = wanted AND c.topic NOT IN ('log', 'statistics')
        FOR UPDATE OF c SKIP LOCKED
    ), dropped AS (
        DELETE FROM outbox o
        USING passed
        WHERE (o.stream_id, o.version, o.topic) = (passed.stream_id, passed.version, passed.topic)
        RETURNING 1
    )
    SELECT count(*)::integer FROM dropped
$$;
