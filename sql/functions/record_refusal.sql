-- record_refusal: store a refused move, encrypted by the caller.
--
-- Only for processes of earlier releases: remove after 2027-05-31.
--
-- This release calls record_attempt. Only the first 200 of a seat are stored, because the game's
-- bundle contains every stored one and must stay small enough to be read.
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
