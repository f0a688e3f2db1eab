-- delete_block: end a player's block of another; returns whether there was one.
CREATE OR REPLACE FUNCTION delete_block(its_player uuid, other uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    DELETE FROM blocks b WHERE b.player = its_player AND b.blocked = other;
    RETURN FOUND;
END
$$;
