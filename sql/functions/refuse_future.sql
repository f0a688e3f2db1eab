-- refuse_future: raise SH400 for a limit of age in the future, by which new rows would be deleted as well.
--
-- One hour is permitted, because the clocks of machines differ.
CREATE OR REPLACE FUNCTION refuse_future(before timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    IF before IS NULL OR before > now() + interval '1 hour' THEN
        RAISE EXCEPTION '% is in the future: only old rows are purged', before
            USING ERRCODE = 'SH400';
    END IF;
END
$$;
