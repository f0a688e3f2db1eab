-- purge_challenges: delete challenges that expired before a time, at most 10,000; returns how many.
--
-- An open one stays, so that its table is closed.
CREATE OR REPLACE FUNCTION purge_challenges(before timestamptz) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    found    uuid[];
    deleted  bigint;
BEGIN
    PERFORM refuse_future(before);
    found := ARRAY(
        SELECT c.table_id FROM challenges c
        WHERE c.expires_at < before AND c.state <> 'open'
        LIMIT 10000
    );
    DELETE FROM challenges c WHERE c.table_id = ANY (found);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END
$$;
