-- open_stream: the first row of a stream, or SH409 where somebody else opened it first.
--
-- A function of its own, since the handler of the unique violation costs a subtransaction that
-- an append to a stream already open does not need.
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
