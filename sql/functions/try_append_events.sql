-- try_append_events: append_events, with its ordinary refusals returned instead of raised.
--
-- Returns null after a commit; else {"refused": SH409 (a stream moved on), SH410 (the request has
-- been answered) or SH401 (a player was erased), "detail": as raised}, with nothing written. A
-- raised error would be logged by PostgreSQL, and two moves at the same time are no error.
CREATE OR REPLACE FUNCTION try_append_events(command jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    its_detail  text;
BEGIN
    PERFORM append_events(command);
    RETURN NULL;
EXCEPTION
    WHEN SQLSTATE 'SH409' OR SQLSTATE 'SH410' OR SQLSTATE 'SH401' THEN
        GET STACKED DIAGNOSTICS its_detail = PG_EXCEPTION_DETAIL;
        RETURN jsonb_build_object('refused', SQLSTATE, 'detail', nullif(its_detail, '')::jsonb);
END
$$;
