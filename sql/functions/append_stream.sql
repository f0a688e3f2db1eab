-- append_stream: compare the version of one stream, add its lines, update its summary row.
--
-- SH409 if the stream is at another version, SH400 for a wrong head, kind or `prev`, or after the end.
--
-- The lines are text in the argument and their UTF-8 bytes in the table. The head is computed
-- again here, so a receipt can never name bytes that are not stored.
--
--   {stream, kind, expected, head (base64), lines: [text, at least one], summary: null or {…}}
CREATE OR REPLACE FUNCTION append_stream(append jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    stream    uuid    := (append ->> 'stream')::uuid;
    expected  integer := (append ->> 'expected')::integer;
    reached   integer := expected + jsonb_array_length(append -> 'lines');
    new_head  bytea   := decode(append ->> 'head', 'base64');
    named     text    := prev_of(append -> 'lines' ->> 0, stream);
    was_over  boolean := expected > 0 AND is_over(stream, append ->> 'kind');
BEGIN
    IF new_head IS DISTINCT FROM
        sha256('\x00'::bytea || convert_to(append -> 'lines' ->> -1, 'UTF8'))
    THEN
        RAISE EXCEPTION 'the head of stream % is not the hash of its last event', stream
            USING ERRCODE = 'SH400';
    END IF;

    IF expected = 0 THEN
        PERFORM open_stream(stream, append ->> 'kind', reached, new_head);
    ELSE
        UPDATE streams SET version = reached, head = new_head
        WHERE
            stream_id = stream AND version = expected AND kind = append ->> 'kind'
            AND encode(head, 'hex') = named;
        IF NOT FOUND THEN
            PERFORM refuse_version(stream, expected);
        END IF;
    END IF;

    INSERT INTO events (stream_id, seq, line)
    SELECT stream, expected + l.ordinality::integer - 1, convert_to(l.value, 'UTF8')
    FROM jsonb_array_elements_text(append -> 'lines') WITH ORDINALITY l;

    CASE append ->> 'kind'
        WHEN 'game' THEN
            PERFORM summarise_game(stream, reached, nullif(append -> 'summary', 'null'));
            PERFORM refuse_after_seal(stream, expected, append -> 'lines');
        WHEN 'table' THEN
            PERFORM summarise_table(stream, reached, nullif(append -> 'summary', 'null'));
        WHEN 'dispute' THEN
            PERFORM summarise_dispute(stream, reached, nullif(append -> 'summary', 'null'));
        ELSE
            NULL;  -- other kinds have no summary
    END CASE;

    IF was_over THEN
        PERFORM refuse_after_close(stream, append ->> 'kind', append -> 'lines');
    END IF;
END
$$;
