-- keep_answer: store the answer to a request; SH410 if it has one.
--
-- A concurrent repetition waits here until the first request has committed or failed.
CREATE OR REPLACE FUNCTION keep_answer(answer jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    INSERT INTO answers (caller, request_key, body_hash, sealed)
    VALUES (
        (answer ->> 'caller')::uuid,
        decode(answer ->> 'key', 'base64'),
        decode(answer ->> 'body', 'base64'),
        decode(answer ->> 'sealed', 'base64')
    );
EXCEPTION
    WHEN unique_violation THEN
        RAISE EXCEPTION 'this request has been answered' USING ERRCODE = 'SH410';
END
$$;
