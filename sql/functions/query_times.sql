-- query_times: the statements that took most time, if the server has pg_stat_statements.
--
-- The view is in a schema of its own, `monitoring`: objects in `public` are those of the service. It
-- counts across restarts. Texts of other roles are hidden, but from pg_read_all_stats.
CREATE OR REPLACE FUNCTION query_times(most integer)
RETURNS TABLE (query text, calls bigint, seconds float8)
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp
AS $$
BEGIN
    IF to_regclass('monitoring.pg_stat_statements') IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY EXECUTE
        'SELECT s.query, s.calls, s.total_exec_time / 1000 FROM monitoring.pg_stat_statements s '
        'JOIN pg_database d ON d.oid = s.dbid AND d.datname = current_database() '
        'ORDER BY s.total_exec_time DESC LIMIT $1' USING most;
EXCEPTION
    WHEN object_not_in_prerequisite_state OR insufficient_privilege THEN
        RETURN;  -- the extension exists, but its library is not loaded, or its schema is closed to us
END
$$;
