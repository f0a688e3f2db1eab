-- purge_answers: forget answers given before a time, 10,000 at most; returns how many.
--
-- Whoever calls goes on until there are none: however many there are, no call takes long.
CREATE OR REPLACE FUNCTION purge_answers(before timestamptz) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH gone AS (
        DELETE FROM answers a
        WHERE a.ctid = ANY (ARRAY(
            SELECT old.ctid FROM answers old WHERE old.created_at < before LIMIT 10000
        ))
        RETURNING 1
    )
    SELECT count(*) FROM gone
$$;
