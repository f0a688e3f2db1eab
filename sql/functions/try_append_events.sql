-- try_append_events: append_events, with its ordinary refusals returned instead of raised.
--
-- Returns null after a commit; else {"refused": SH409 (a stream moved on), SH410 (the request has
-- been answered), SH403 (the token has expired) or SH401 (a player was erased), "detail": as
-- raised, "lines": for SH409 of a game its events since the expected version}, with nothing
-- written. PostgreSQL would log a raised error, but concurrent moves are no error. With the lines
-- the caller can decide again without a read.
--
-- An ordinary move is written by append_game_move, which this release calls for it.
CREATE OR REPLACE FUNCTION try_append_events(command jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    append      jsonb := command -> 'appends' -> 0;
    summary     jsonb := append -> 'summary';
    its_detail  text;
BEGIN
    -- An ordinary move. Only for processes of earlier releases: remove after 2027-05-31.
    IF jsonb_array_length(command -> 'appends') = 1
        AND jsonb_array_length(command -> 'outbox') = 1
        AND append ->> 'kind' = 'game'
        AND (append ->> 'expected')::integer > 0
        AND summary ?& ARRAY['status', 'turn', 'dealer', 'wake_kind', 'wake_at', 'ended_at', 'reason']
        AND NOT summary ?| ARRAY['seats', 'table_id', 'back', 'wake_seat']
        AND summary ->> 'ended_at' IS NULL
        AND summary ->> 'reason' IS NULL
        AND command ->> 'secret' IS NULL
        AND command ->> 'forget' IS NULL
        AND coalesce(jsonb_array_length(nullif(command -> 'quotas', 'null')), 0) = 0
    THEN
        RETURN append_move(command);
    END IF;

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
    END;
END
$$;
