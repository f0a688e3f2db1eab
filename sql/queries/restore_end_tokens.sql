-- restore_end_tokens: replace all tokens by random, unknown ones; returns the number replaced.
--
-- Recovery codes stay.
WITH done AS (
    UPDATE players p
    SET token_hash = sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
    WHERE p.erased_at IS NULL
    RETURNING 1
)
SELECT count(*) FROM done
