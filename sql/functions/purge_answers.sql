-- purge_answers: delete answers stored before a time, at most 10,000; returns the number deleted.
--
-- The caller repeats the call until it returns 0, so that no single call takes long.
CREATE OR REPLACE FUNCTION purge_answers(before timestamptz) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    deleted  bigint;
BEGIN
    PERFORM refuse_future(before);
    DELETE FROM answers a
    USING (
        SELECT o.caller, o.request_key FROM answers o WHERE o.created_at < before LIMIT 10000
    ) old
    WHERE a.caller = old.caller AND a.request_key = old.request_key;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END
$$;
