-- refuse_log_change: trigger that refuses changes of the public log with SH403, to the owner as well.
--
-- The only change allowed is to set or replace the note of a head. A note can never be removed.
CREATE OR REPLACE FUNCTION refuse_log_change() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION '% on % is refused: the public log only grows', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'SH403';
END
$$;

CREATE OR REPLACE TRIGGER log_leaves_never_change BEFORE UPDATE OR DELETE OR TRUNCATE ON log_leaves
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_log_change();
ALTER TABLE log_leaves ENABLE ALWAYS TRIGGER log_leaves_never_change;

CREATE OR REPLACE TRIGGER log_hashes_never_change BEFORE UPDATE OR DELETE OR TRUNCATE ON log_hashes
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_log_change();
ALTER TABLE log_hashes ENABLE ALWAYS TRIGGER log_hashes_never_change;

CREATE OR REPLACE TRIGGER log_heads_never_go BEFORE DELETE OR TRUNCATE ON log_heads
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_log_change();
ALTER TABLE log_heads ENABLE ALWAYS TRIGGER log_heads_never_go;

CREATE OR REPLACE TRIGGER log_heads_are_only_signed BEFORE UPDATE ON log_heads
    FOR EACH ROW WHEN (
        NEW.size <> OLD.size OR NEW.root <> OLD.root OR NEW.made_at <> OLD.made_at
        OR NEW.note IS NULL
    ) EXECUTE FUNCTION refuse_log_change();
ALTER TABLE log_heads ENABLE ALWAYS TRIGGER log_heads_are_only_signed;

CREATE OR REPLACE TRIGGER log_cosignatures_never_change
    BEFORE UPDATE OR DELETE OR TRUNCATE ON log_cosignatures
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_log_change();
ALTER TABLE log_cosignatures ENABLE ALWAYS TRIGGER log_cosignatures_never_change;

CREATE OR REPLACE TRIGGER log_time_stamps_never_change
    BEFORE UPDATE OR DELETE OR TRUNCATE ON log_time_stamps
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_log_change();
ALTER TABLE log_time_stamps ENABLE ALWAYS TRIGGER log_time_stamps_never_change;
