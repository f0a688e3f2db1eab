-- archive_stream: delete the events of a sealed or aborted game, and keep its head.
--
-- Only the owner of the database may call it. `bundle_hash` is the SHA-256 of the bundle that
-- replaces the events and the refused moves. Returns the number of events deleted. SH425 while the
-- stream has outbox rows, because their receivers read its events. SH400 for an unknown stream,
-- SH403 for a stream of another kind or a game that is not over.
CREATE OR REPLACE FUNCTION archive_stream(stream uuid, bundle_hash bytea) RETURNS integer
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    removed  integer;
BEGIN
    INSERT INTO archived (stream_id, version, head, bundle)
    SELECT s.stream_id, s.version, s.head, bundle_hash
    FROM streams s
    WHERE s.stream_id = stream
    FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no stream %', stream USING ERRCODE = 'SH400';
    END IF;
    IF EXISTS (SELECT FROM outbox o WHERE o.stream_id = stream) THEN
        RAISE EXCEPTION 'stream % has outbox rows still to be processed', stream
            USING ERRCODE = 'SH425';
    END IF;
    DELETE FROM events e WHERE e.stream_id = stream;
    GET DIAGNOSTICS removed = ROW_COUNT;
    DELETE FROM refusals r WHERE r.game_id = stream;
    RETURN removed;
END
$$;
