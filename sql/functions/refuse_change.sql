-- refuse_change: trigger that refuses a change of stored rows with SH403, to the owner as well.
--
-- The triggers below name the tables and the changes. Events can be deleted: see refuse_delete.
-- The triggers are ENABLE ALWAYS, because session_replication_role = replica skips ordinary ones. If
-- `events` is ever partitioned, each partition needs its own TRUNCATE trigger: one on the parent does
-- not fire.
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION '% on % is refused: the record is append-only', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'SH403';
END
$$;

CREATE OR REPLACE TRIGGER events_never_change BEFORE UPDATE OR TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE events ENABLE ALWAYS TRIGGER events_never_change;

CREATE OR REPLACE TRIGGER streams_never_go BEFORE DELETE OR TRUNCATE ON streams
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE streams ENABLE ALWAYS TRIGGER streams_never_go;

-- The condition avoids a function call in each append, because an append increases the version.
CREATE OR REPLACE TRIGGER streams_only_grow BEFORE UPDATE ON streams
    FOR EACH ROW WHEN (
        NEW.version <= OLD.version OR NEW.stream_id <> OLD.stream_id OR NEW.kind <> OLD.kind
    ) EXECUTE FUNCTION refuse_change();
ALTER TABLE streams ENABLE ALWAYS TRIGGER streams_only_grow;

CREATE OR REPLACE TRIGGER archived_never_changes BEFORE UPDATE OR DELETE OR TRUNCATE ON archived
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE archived ENABLE ALWAYS TRIGGER archived_never_changes;

CREATE OR REPLACE TRIGGER readings_never_change BEFORE UPDATE OR DELETE OR TRUNCATE ON readings
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE readings ENABLE ALWAYS TRIGGER readings_never_change;

CREATE OR REPLACE TRIGGER trail_never_changes BEFORE UPDATE OR DELETE OR TRUNCATE ON trail
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE trail ENABLE ALWAYS TRIGGER trail_never_changes;
