-- try_append_events: append_events, with what ordinarily refuses it returned instead of raised.
--
-- Null once all is written. Else nothing is, and the answer is {"refused": SH409 (a stream moved
-- on), SH410 (the request has been answered) or SH401 (a person was erased), "detail": as raised}.
-- An error that is raised stands in the server's log; two players who move at once are none.
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
