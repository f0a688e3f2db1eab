-- end_invitation: withdraw an invitation to a table, or decline it; returns whether it was open.
--
-- A declined one stays until the table is closed, so that its host can neither repeat nor withdraw it.
CREATE OR REPLACE FUNCTION end_invitation(its_table uuid, invited uuid, declined timestamptz)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    IF declined IS NULL THEN
        DELETE FROM invitations i
        WHERE i.table_id = its_table AND i.player = invited AND i.declined_at IS NULL;
    ELSE
        UPDATE invitations i SET declined_at = declined
        WHERE i.table_id = its_table AND i.player = invited AND i.declined_at IS NULL;
    END IF;
    RETURN FOUND;
END
$$;
