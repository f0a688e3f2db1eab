-- append_events: write all changes of one command in one transaction; the only way to add events.
--
-- `expected` is the version at which the caller decided. SH409 if a stream has moved on (DETAIL:
-- the stream and its version): the caller reads and decides again. SH410 if the request has been
-- answered meanwhile, SH429 if a quota is reached, SH401 if a player was erased, SH400 for a wrong
-- head or kind of stream, or if the first new event does not name the stream's head as `prev`.
--
-- An unknown or expired token is refused first (SH403). The answer is written before the events, so
-- a repeated request gets SH410, never SH409 or SH429 because of its own first execution. Streams
-- are locked in the order of their ids, which prevents deadlocks.
--
-- One jsonb argument costs less than arrays. No NOTIFY: it takes a database-wide lock at commit.
--
--   {"token": absent, null or the hash of a bearer token that must be valid,
--    "answer": null or {caller, key, body, sealed}, "appends": [see append_stream],
--    "secret": null or {game, key, ciphertext},
--    "forget": null or the game whose seed is deleted, only with its last event,
--    "refused": null or how many refused attempts the seal names,
--    "outbox": [{stream, version, topic}],
--    "quotas": absent or [see refuse_over_quota],
--    "admission": absent, null or {table, host, player}: SH409 if the host blocks the player,
--    "seeks": absent, null or see claim_seeks}    bytes in base64
CREATE OR REPLACE FUNCTION append_events(command jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    answer  jsonb := nullif(command -> 'answer', 'null');
    secret  jsonb := nullif(command -> 'secret', 'null');
    append  jsonb;
    hands   jsonb := '{}';  -- dealt or ended: the status before, null for a new one
BEGIN
    IF command ->> 'token' IS NOT NULL AND NOT EXISTS (
        SELECT FROM tokens k
        WHERE k.token_hash = decode(command ->> 'token', 'base64')
            AND (k.ends_at IS NULL OR k.ends_at > now())
    ) THEN
        RAISE EXCEPTION 'the token is unknown or has expired' USING ERRCODE = 'SH403';
    END IF;

    IF answer IS NOT NULL THEN
        PERFORM keep_answer(answer);
    END IF;

    IF jsonb_array_length(command -> 'quotas') > 0 THEN
        PERFORM refuse_over_quota(command -> 'quotas');
    END IF;

    IF command ->> 'admission' IS NOT NULL THEN
        PERFORM refuse_blocked(
            ARRAY[(command -> 'admission' ->> 'host')::uuid],
            ARRAY[(command -> 'admission' ->> 'player')::uuid],
            (command -> 'admission' ->> 'table')::uuid
        );
    END IF;

    IF command ->> 'seeks' IS NOT NULL THEN
        PERFORM claim_seeks(command -> 'seeks');
    END IF;

    FOR append IN
        SELECT a.value
        FROM jsonb_array_elements(command -> 'appends') a
        ORDER BY (a.value ->> 'stream')::uuid
    LOOP
        IF append ->> 'kind' = 'game' AND (
            (append ->> 'expected')::integer = 0
            OR append -> 'summary' ->> 'status' IN ('ended', 'aborted')
        ) THEN
            hands := hands || jsonb_build_object(
                append ->> 'stream',
                (SELECT g.status FROM games g WHERE g.game_id = (append ->> 'stream')::uuid)
            );
        END IF;
        PERFORM append_stream(append);
    END LOOP;

    IF secret IS NOT NULL THEN
        INSERT INTO secrets (game_id, key_id, ciphertext)
        VALUES (
            (secret ->> 'game')::uuid,
            secret ->> 'key',
            decode(secret ->> 'ciphertext', 'base64')
        );
    END IF;

    IF command ->> 'forget' IS NOT NULL THEN
        IF NOT EXISTS (
            SELECT FROM jsonb_array_elements(command -> 'appends') a
            WHERE
                a.value ->> 'stream' = command ->> 'forget'
                AND a.value -> 'lines' ->> -1 ~ '"type":"game_(sealed|aborted)"'
        ) THEN
            RAISE EXCEPTION 'the seed of game % is deleted by its end only', command ->> 'forget'
                USING ERRCODE = 'SH400';
        END IF;
        PERFORM check_refusals(command);
        DELETE FROM secrets WHERE game_id = (command ->> 'forget')::uuid;
    END IF;

    IF jsonb_array_length(command -> 'outbox') > 0 THEN
        INSERT INTO outbox (stream_id, version, topic)
        SELECT (o.value ->> 'stream')::uuid, (o.value ->> 'version')::integer, o.value ->> 'topic'
        FROM jsonb_array_elements(command -> 'outbox') o;
    END IF;

    IF hands <> '{}' THEN
        PERFORM count_hands(hands);
    END IF;
END
$$;
