-- try_append_events: append_events, with its ordinary refusals returned instead of raised.
--
-- Returns null after a commit; else {"refused": SH409 (a stream moved on), SH410 (the request has
-- been answered), SH403 (the token has expired) or SH401 (a player was erased), "detail": as
-- raised, "lines": for SH409 of a game its events since the expected version}, with nothing
-- written. PostgreSQL would log a raised error, but concurrent moves are no error. With the lines
-- the caller can decide again without a read.
--
-- An ordinary move is written by append_game_move instead.
CREATE OR REPLACE FUNCTION try_append_events(command jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    its_detail  text;
BEGIN
    PERFORM append_events(command);
    RETURN NULL;
EXCEPTION
    WHEN SQLSTATE 'SH409' OR SQLSTATE 'SH410' OR SQLSTATE 'SH403' OR SQLSTATE 'SH401' THEN
        GET STACKED DIAGNOSTICS its_detail = PG_EXCEPTION_DETAIL;
        RETURN jsonb_build_object(
            'refused', SQLSTATE,
            'detail', nullif(its_detail, '')::jsonb,
            'lines', (
                SELECT jsonb_agg(convert_from(e.line, 'UTF8') ORDER BY e.seq)
                FROM jsonb_array_elements(command -> 'appends') a
                JOIN events e
                    ON e.stream_id = (a.value ->> 'stream')::uuid
                    AND e.seq >= (a.value ->> 'expected')::integer
                WHERE
                    SQLSTATE = 'SH409'
                    AND a.value ->> 'kind' = 'game'
                    AND a.value ->> 'stream' = nullif(its_detail, '')::jsonb ->> 'stream'
            )
        );
END
$$;
