-- restore_end_tokens: give everybody a token that nobody has; recovery codes stay. Returns how many.
WITH done AS (
    UPDATE players p
    SET token_hash = sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
    WHERE p.erased_at IS NULL
    RETURNING 1
)
SELECT count(*) FROM done
