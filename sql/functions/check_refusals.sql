-- check_refusals: refuse a seal unless it names the number of recorded attempts.
--
-- Called by append_events, which holds the row lock of the stream, so no attempt is added until it
-- has committed. `refused` is the number of attempts in the seal. SH409 if another number is
-- stored: the caller reads and decides again. SH400 without that number.
CREATE OR REPLACE FUNCTION check_refusals(command jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    game      uuid    := (command ->> 'forget')::uuid;
    counted   integer := (command ->> 'refused')::integer;
    recorded  integer;
BEGIN
    IF counted IS NULL THEN
        RAISE EXCEPTION 'the seal of game % has to name its refused attempts', game
            USING ERRCODE = 'SH400';
    END IF;
    recorded := (SELECT count(*) FROM refusals r WHERE r.game_id = game);
    IF recorded <> counted THEN
        RAISE EXCEPTION 'game % has % refused attempts recorded, not %', game, recorded, counted
            USING
                ERRCODE = 'SH409',
                DETAIL = (
                    SELECT jsonb_build_object('stream', game, 'version', a.value -> 'expected')::text
                    FROM jsonb_array_elements(command -> 'appends') a
                    WHERE (a.value ->> 'stream')::uuid = game
                );
    END IF;
END
$$;
