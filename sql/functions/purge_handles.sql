-- purge_handles: delete hashes of handles that were reserved until a time, at most 10,000; returns how many.
CREATE OR REPLACE FUNCTION purge_handles(before timestamptz) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    deleted  bigint;
BEGIN
    PERFORM refuse_future(before);
    DELETE FROM handles h
    USING (
        SELECT o.hash FROM handles o WHERE o.free_at < before LIMIT 10000 FOR UPDATE SKIP LOCKED
    ) old
    WHERE h.hash = old.hash;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END
$$;
