-- purge_seeks: delete seeks that ended or expired before a time, at most 10,000; returns how many.
CREATE OR REPLACE FUNCTION purge_seeks(before timestamptz) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    deleted  bigint;
BEGIN
    PERFORM refuse_future(before);
    DELETE FROM seeks s
    USING (
        SELECT o.seek_id FROM seeks o
        WHERE o.expires_at < before AND coalesce(o.ended_at, o.expires_at) < before
        LIMIT 10000
        FOR UPDATE SKIP LOCKED
    ) old
    WHERE s.seek_id = old.seek_id;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END
$$;
