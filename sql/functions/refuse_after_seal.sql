-- refuse_after_seal: raise SH400 unless the lines of a game end it at most once, with the last of them.
--
-- The end is the seal, or an abort before the deal. `expected` is the version before the lines, so that
-- its last event is at `expected` - 1. The row of a game that has ended has to say so: append_game_move
-- looks there. Canonical JSON escapes the quotation marks of strings, so the text of a player cannot
-- look like the type of an event.
CREATE OR REPLACE FUNCTION refuse_after_seal(stream uuid, expected integer, lines jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    seal   text    := '"type":"game_(sealed|aborted)"';
    seals  integer := (
        SELECT count(*) FROM jsonb_array_elements_text(lines) l WHERE l.value ~ seal
    );
BEGIN
    IF EXISTS (
        SELECT FROM events e
        WHERE
            e.stream_id = stream AND e.seq = expected - 1
            AND convert_from(e.line, 'UTF8') ~ seal
    ) THEN
        RAISE EXCEPTION 'game % is over', stream USING ERRCODE = 'SH400';
    END IF;
    IF seals = 0 THEN
        RETURN;
    END IF;
    IF seals > 1 OR lines ->> -1 !~ seal THEN
        RAISE EXCEPTION 'events of game % follow its end', stream USING ERRCODE = 'SH400';
    END IF;
    IF EXISTS (SELECT FROM games g WHERE g.game_id = stream AND g.ended_at IS NULL) THEN
        RAISE EXCEPTION 'the row of game % does not say when it ended', stream
            USING ERRCODE = 'SH400';
    END IF;
END
$$;
