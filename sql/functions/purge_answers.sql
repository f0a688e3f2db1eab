-- purge_answers: delete answers stored before a time, at most 10,000; returns the number deleted.
--
-- The caller repeats the call until it returns 0, so that no single call takes long.
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
