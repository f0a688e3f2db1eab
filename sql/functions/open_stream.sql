-- open_stream: insert the row of a new stream; SH409 if it exists.
--
-- A separate function, because the exception handler costs a subtransaction that an append to an
-- existing stream does not need.
CREATE OR REPLACE FUNCTION open_stream(stream uuid, its_kind text, reached integer, its_head bytea)
RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    INSERT INTO streams (stream_id, kind, version, head)
    VALUES (stream, its_kind, reached, its_head);
EXCEPTION
    WHEN unique_violation THEN
        PERFORM refuse_version(stream, 0);
END
$$;
