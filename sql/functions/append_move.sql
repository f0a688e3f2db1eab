-- append_move: append_events for an ordinary move, which is one append to a game that goes on.
--
-- Called by try_append_events, and returns the same. One body without a subtransaction: nested
-- functions and exception handlers cost as much as the writes. Refusals are found before anything is
-- written, except SH409: the answer was inserted first (for the reason in append_events), and is
-- deleted again.
--
--   the command of append_events
CREATE OR REPLACE FUNCTION append_move(command jsonb) RETURNS jsonb
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    append      jsonb    := command -> 'appends' -> 0;
    stream      uuid     := (append ->> 'stream')::uuid;
    expected    integer  := (append ->> 'expected')::integer;
    lines       jsonb    := append -> 'lines';
    reached     integer  := expected + jsonb_array_length(lines);
    new_head    bytea    := sha256('\x00'::bytea || convert_to(lines ->> -1, 'UTF8'));
    summary     jsonb    := append -> 'summary';
    answer      jsonb    := nullif(command -> 'answer', 'null');
    its_caller  uuid     := (answer ->> 'caller')::uuid;
    its_key     bytea    := decode(answer ->> 'key', 'base64');
    present     integer;
BEGIN
    IF command ->> 'token' IS NOT NULL AND NOT EXISTS (
        SELECT FROM players p WHERE p.token_hash = decode(command ->> 'token', 'base64')
    ) THEN
        RETURN '{"refused": "SH403", "detail": null, "lines": null}';
    END IF;

    IF answer IS NOT NULL THEN
        -- Waits for a repetition of the request that runs at the same time.
        INSERT INTO answers (caller, request_key, body_hash, sealed)
        VALUES (
            its_caller, its_key, decode(answer ->> 'body', 'base64'), decode(answer ->> 'sealed', 'base64')
        )
        ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN
            RETURN '{"refused": "SH410", "detail": null, "lines": null}';
        END IF;
    END IF;

    IF new_head IS DISTINCT FROM decode(append ->> 'head', 'base64') THEN
        RAISE EXCEPTION 'the head of stream % is not the hash of its last event', stream
            USING ERRCODE = 'SH400';
    END IF;

    UPDATE streams s SET version = reached, head = new_head
    WHERE s.stream_id = stream AND s.version = expected AND s.kind = 'game';
    IF NOT FOUND THEN
        present := coalesce((SELECT s.version FROM streams s WHERE s.stream_id = stream), 0);
        IF present = expected THEN
            PERFORM refuse_version(stream, expected);  -- of another kind
        END IF;
        DELETE FROM answers a WHERE a.caller = its_caller AND a.request_key = its_key;
        RETURN jsonb_build_object(
            'refused', 'SH409',
            'detail', jsonb_build_object('stream', stream, 'version', present),
            'lines', (
                SELECT jsonb_agg(convert_from(e.line, 'UTF8') ORDER BY e.seq)
                FROM events e
                WHERE e.stream_id = stream AND e.seq >= expected
            )
        );
    END IF;

    INSERT INTO events (stream_id, seq, line)
    SELECT stream, expected + l.ordinality::integer - 1, convert_to(l.value, 'UTF8')
    FROM jsonb_array_elements_text(lines) WITH ORDINALITY l;

    UPDATE games g SET
        version = reached,
        status = summary ->> 'status',
        turn = (summary ->> 'turn')::integer,
        dealer = (summary ->> 'dealer')::integer,
        wake_kind = summary ->> 'wake_kind',
        wake_at = (summary ->> 'wake_at')::timestamptz
    WHERE g.game_id = stream;

    INSERT INTO outbox (stream_id, version, topic)
    SELECT (o.value ->> 'stream')::uuid, (o.value ->> 'version')::integer, o.value ->> 'topic'
    FROM jsonb_array_elements(command -> 'outbox') o;
    RETURN NULL;
END
$$;
