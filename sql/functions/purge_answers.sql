-- purge_answers: forget the answers given before a time; returns how many.
CREATE OR REPLACE FUNCTION purge_answers(before timestamptz) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH gone AS (DELETE FROM answers a WHERE a.created_at < before RETURNING 1)
    SELECT count(*) FROM gone
$$;
