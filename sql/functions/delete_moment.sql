-- delete_moment: delete a moment of a player; returns whether there was one.
CREATE OR REPLACE FUNCTION delete_moment(player uuid, moment uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    DELETE FROM moments m WHERE m.player_id = player AND m.moment_id = moment;
    RETURN FOUND;
END
$$;
