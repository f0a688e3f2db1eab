-- check_archived: trigger that refuses a row of `archived` unless it matches a game that is over.
CREATE OR REPLACE FUNCTION check_archived() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    last_type  text := (
        SELECT convert_from(e.line, 'UTF8')::jsonb ->> 'type'
        FROM events e
        WHERE e.stream_id = NEW.stream_id AND e.seq = NEW.version - 1
    );
BEGIN
    IF coalesce(last_type, '') NOT IN ('game_sealed', 'game_aborted') OR NOT EXISTS (
        SELECT FROM streams s
        WHERE s.stream_id = NEW.stream_id AND s.version = NEW.version AND s.head = NEW.head
            AND s.kind = 'game'
    ) THEN
        RAISE EXCEPTION 'stream % is no sealed game at version %', NEW.stream_id, NEW.version
            USING ERRCODE = 'SH403';
    END IF;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER archived_is_true BEFORE INSERT ON archived
    FOR EACH ROW EXECUTE FUNCTION check_archived();
ALTER TABLE archived ENABLE ALWAYS TRIGGER archived_is_true;
