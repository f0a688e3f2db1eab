-- record_refusal: store a refused move, which the caller has encrypted; called by earlier releases.
--
-- Only the first 200 of a seat are stored: the game's bundle contains them all, and must stay
-- small enough to be read.
CREATE OR REPLACE FUNCTION record_refusal(
    game uuid, refused_at timestamptz, its_seat integer, key text, ciphertext bytea
) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    INSERT INTO refusals (game_id, at, seat, key_id, sealed)
    SELECT game, refused_at, its_seat, key, ciphertext
    WHERE (
        SELECT count(*) FROM refusals r WHERE r.game_id = game AND r.seat = its_seat
    ) < 200
$$;
