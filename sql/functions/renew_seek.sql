-- renew_seek: let an open seek of a player expire later; returns whether it was open.
CREATE OR REPLACE FUNCTION renew_seek(seek uuid, player uuid, at timestamptz, until timestamptz)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    UPDATE seeks s SET expires_at = greatest(s.expires_at, until)
    WHERE s.seek_id = seek AND s.player_id = player AND s.ended_at IS NULL AND s.expires_at > at;
    RETURN FOUND;
END
$$;
