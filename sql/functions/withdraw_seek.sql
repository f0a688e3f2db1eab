-- withdraw_seek: end an open seek of a player without a table; returns whether it was open.
CREATE OR REPLACE FUNCTION withdraw_seek(seek uuid, player uuid, at timestamptz) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    UPDATE seeks s SET ended_at = at
    WHERE s.seek_id = seek AND s.player_id = player AND s.ended_at IS NULL AND s.expires_at > at;
    RETURN FOUND;
END
$$;
