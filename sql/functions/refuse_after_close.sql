-- refuse_after_close: raise SH400 for events after the end of a table or dispute, except those that may follow.
--
-- A dispute about a hand can be opened after its table was closed, and findings can be made with the end
-- of a dispute. The row has to go on saying that it is over: the next append looks there.
CREATE OR REPLACE FUNCTION refuse_after_close(stream uuid, kind text, lines jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    may_follow  text := CASE kind
        WHEN 'table' THEN '"type":"dispute_opened"' ELSE '"type":"findings_made"'
    END;
BEGIN
    IF EXISTS (
        SELECT FROM jsonb_array_elements_text(lines) l WHERE strpos(l.value, may_follow) = 0
    ) OR NOT is_over(stream, kind) THEN
        RAISE EXCEPTION '% % is over', kind, stream USING ERRCODE = 'SH400';
    END IF;
END
$$;
