-- record_reading: note who read something not public.
CREATE OR REPLACE FUNCTION record_reading(
    game uuid, read_at timestamptz, its_reader uuid, what_was_read text
) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    INSERT INTO readings (game_id, at, reader, what)
    VALUES (game, read_at, its_reader, what_was_read)
$$;
