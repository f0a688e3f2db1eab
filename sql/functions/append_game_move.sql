-- append_game_move: append_events for an ordinary move, which is one append to a game that goes on.
--
-- Returns the same as try_append_events. Its arguments are the parts of the command, because a jsonb
-- costs the service and the database more. One body without a subtransaction: nested functions and exception handlers
-- cost as much as the writes. Refusals are found before anything is written, except SH409: the answer
-- was inserted first (for the reason in append_events), and is deleted again.
--
--   token       hash of the bearer token that must still be valid; null: not checked
--   stream      the game
--   expected    its version before the move
--   lines       the new events, separated by line feeds, which canonical JSON does not contain
--   new_head    the head after the last of them
--   summary     the columns of the game's row that a move sets
--   topic       the receiver of the outbox row
--   its_caller  caller, key, body hash and content of the answer to store; null: none
CREATE OR REPLACE FUNCTION append_game_move(
    token bytea, stream uuid, expected integer, lines text, new_head bytea, summary jsonb,
    topic text, its_caller uuid, its_key bytea, its_body bytea, its_content bytea
) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    each_line   text[]   := string_to_array(lines, E'\n');
    reached     integer  := expected + cardinality(each_line);
    named_prev  text     := prev_of(each_line[1], stream);
    present     integer;
BEGIN
    IF token IS NOT NULL AND NOT EXISTS (
        SELECT FROM tokens k
        WHERE k.token_hash = append_game_move.token AND (k.ends_at IS NULL OR k.ends_at > now())
    ) THEN
        RETURN '{"refused": "SH403", "detail": null, "lines": null}';
    END IF;

    IF its_caller IS NOT NULL THEN
        -- Waits for a repetition of the request that runs at the same time.
        INSERT INTO answers (caller, request_key, body_hash, sealed)
        VALUES (its_caller, its_key, its_body, its_content)
        ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN
            RETURN '{"refused": "SH410", "detail": null, "lines": null}';
        END IF;
    END IF;

    IF new_head IS DISTINCT FROM
        sha256('\x00'::bytea || convert_to(each_line[cardinality(each_line)], 'UTF8'))
    THEN
        RAISE EXCEPTION 'the head of stream % is not the hash of its last event', stream
            USING ERRCODE = 'SH400';
    END IF;

    UPDATE streams s SET version = reached, head = new_head
    WHERE
        s.stream_id = stream AND s.version = expected AND s.kind = 'game'
        AND encode(s.head, 'hex') = named_prev;
    IF NOT FOUND THEN
        present := coalesce((SELECT s.version FROM streams s WHERE s.stream_id = stream), 0);
        IF present = expected THEN
            PERFORM refuse_version(stream, expected);  -- another kind, or a wrong `prev`
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
    SELECT stream, expected + l.ordinality::integer - 1, convert_to(l.line, 'UTF8')
    FROM unnest(each_line) WITH ORDINALITY l (line, ordinality);

    UPDATE games g SET
        version = reached,
        status = summary ->> 'status',
        turn = (summary ->> 'turn')::integer,
        dealer = (summary ->> 'dealer')::integer,
        wake_kind = summary ->> 'wake_kind',
        wake_at = (summary ->> 'wake_at')::timestamptz
    WHERE g.game_id = stream AND g.ended_at IS NULL;
    IF NOT FOUND AND EXISTS (SELECT FROM games g WHERE g.game_id = stream)
        OR strpos(lines, '"type":"game_sealed"') > 0 OR strpos(lines, '"type":"game_aborted"') > 0
    THEN
        RAISE EXCEPTION 'game % is over, or would be', stream USING ERRCODE = 'SH400';
    END IF;

    INSERT INTO outbox (stream_id, version, topic) VALUES (stream, reached, append_game_move.topic);
    RETURN NULL;
END
$$;
