-- refuse_delete: trigger that refuses to delete an event unless its stream is in `archived`.
--
-- The row in `archived` is the permission, so there is no switch that could stay on by mistake.
CREATE OR REPLACE FUNCTION refuse_delete() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    IF EXISTS (SELECT FROM archived a WHERE a.stream_id = OLD.stream_id AND a.version > OLD.seq) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'DELETE on events is refused: the record is append-only'
        USING ERRCODE = 'SH403';
END
$$;

CREATE OR REPLACE TRIGGER events_never_go BEFORE DELETE ON events
    FOR EACH ROW EXECUTE FUNCTION refuse_delete();
ALTER TABLE events ENABLE ALWAYS TRIGGER events_never_go;
