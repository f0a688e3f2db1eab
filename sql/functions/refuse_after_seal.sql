-- refuse_after_seal: raise SH400 unless the lines of a game end it at most once, with the last of them.
--
-- `expected` is the version before the lines, so that its last event is at `expected` - 1. The row
-- of a sealed game has to say that it is over: append_game_move looks there. Canonical JSON escapes
-- the quotation marks of strings, so the text of a player cannot look like the type of an event.
CREATE OR REPLACE FUNCTION refuse_after_seal(stream uuid, expected integer, lines jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    seal   text    := '"type":"game_sealed"';
    seals  integer := (
        SELECT count(*) FROM jsonb_array_elements_text(lines) l WHERE strpos(l.value, seal) > 0
    );
BEGIN
    IF EXISTS (
        SELECT FROM events e
        WHERE
            e.stream_id = stream AND e.seq = expected - 1
            AND position(convert_to(seal, 'UTF8') IN e.line) > 0
    ) THEN
        RAISE EXCEPTION 'game % is sealed', stream USING ERRCODE = 'SH400';
    END IF;
    IF seals = 0 THEN
        RETURN;
    END IF;
    IF seals > 1 OR strpos(lines ->> -1, seal) = 0 THEN
        RAISE EXCEPTION 'events of game % follow its seal', stream USING ERRCODE = 'SH400';
    END IF;
    IF EXISTS (SELECT FROM games g WHERE g.game_id = stream AND g.ended_at IS NULL) THEN
        RAISE EXCEPTION 'the row of game % does not say when it ended', stream
            USING ERRCODE = 'SH400';
    END IF;
END
$$;
