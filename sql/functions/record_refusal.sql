-- record_refusal: keep a refused move, encrypted by the caller.
CREATE OR REPLACE FUNCTION record_refusal(
    game uuid, refused_at timestamptz, its_seat integer, key text, ciphertext bytea
) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    INSERT INTO refusals (game_id, at, seat, key_id, sealed)
    VALUES (game, refused_at, its_seat, key, ciphertext)
$$;
