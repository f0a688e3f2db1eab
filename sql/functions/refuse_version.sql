-- refuse_version: raise SH409, with the stream and its present version as JSON in DETAIL.
--
-- Version 0 in DETAIL means that there is no such stream. SH400 if the version is the expected one:
-- then the caller found no row because the stream is of another kind or has another head.
CREATE OR REPLACE FUNCTION refuse_version(stream uuid, expected integer) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    present  integer := coalesce((SELECT s.version FROM streams s WHERE s.stream_id = stream), 0);
BEGIN
    IF present = expected THEN
        RAISE EXCEPTION 'stream % is of another kind, or `prev` is not its head', stream
            USING ERRCODE = 'SH400';
    END IF;
    RAISE EXCEPTION 'stream % is at version %, not %', stream, present, expected
        USING
            ERRCODE = 'SH409',
            DETAIL = jsonb_build_object('stream', stream, 'version', present)::text;
END
$$;
