-- renew_seeks: let those of some seeks that are open expire later; returns how many.
--
-- Locked seeks are left out: they are renewed, matched or withdrawn at this moment.
CREATE OR REPLACE FUNCTION renew_seeks(ids uuid[], at timestamptz, until timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    renewed integer;
BEGIN
    UPDATE seeks s SET expires_at = greatest(s.expires_at, until)
    WHERE s.seek_id IN (
        SELECT o.seek_id FROM seeks o
        WHERE o.seek_id = ANY (ids) AND o.ended_at IS NULL AND o.expires_at > at
        FOR NO KEY UPDATE SKIP LOCKED
    );
    GET DIAGNOSTICS renewed = ROW_COUNT;
    RETURN renewed;
END
$$;
