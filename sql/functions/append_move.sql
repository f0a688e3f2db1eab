-- append_move: append_game_move with the command of append_events.
--
-- Only for processes of earlier releases: remove after 2027-05-31.
CREATE OR REPLACE FUNCTION append_move(command jsonb) RETURNS jsonb
LANGUAGE sql SET search_path = public, pg_temp
AS $$
    SELECT append_game_move(
        decode(command ->> 'token', 'base64'),
        (append ->> 'stream')::uuid,
        (append ->> 'expected')::integer,
        (SELECT string_agg(l.value, E'\n' ORDER BY l.ordinality)
        FROM jsonb_array_elements_text(append -> 'lines') WITH ORDINALITY l),
        decode(append ->> 'head', 'base64'),
        append -> 'summary',
        command -> 'outbox' -> 0 ->> 'topic',
        (command -> 'answer' ->> 'caller')::uuid,
        decode(command -> 'answer' ->> 'key', 'base64'),
        decode(command -> 'answer' ->> 'body', 'base64'),
        decode(command -> 'answer' ->> 'sealed', 'base64')
    )
    FROM (SELECT command -> 'appends' -> 0 AS append) a
$$;
