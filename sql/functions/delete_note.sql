-- delete_note: delete a player's note on an event; returns whether there was one.
CREATE OR REPLACE FUNCTION delete_note(game uuid, its_author uuid, its_seq integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    DELETE FROM notes n WHERE n.game_id = game AND n.author = its_author AND n.seq = its_seq;
    RETURN FOUND;
END
$$;
