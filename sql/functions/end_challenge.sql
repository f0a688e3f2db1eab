-- end_challenge: decline an open challenge, or let it expire; returns whether it was open.
CREATE OR REPLACE FUNCTION end_challenge(its_table uuid, ended text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    UPDATE challenges c SET state = ended
    WHERE c.table_id = its_table AND c.state = 'open' AND ended IN ('declined', 'expired');
    RETURN FOUND;
END
$$;
