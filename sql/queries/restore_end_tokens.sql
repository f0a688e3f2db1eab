-- restore_end_tokens: end the tokens and webhooks of all players; returns the number of players.
--
-- The hash that earlier releases know is replaced by a random one. Recovery codes remain valid: with
-- them players get new tokens.
WITH ended AS (
    DELETE FROM tokens
),
webhooks_ended AS (
    DELETE FROM webhooks
),
deliveries_ended AS (
    DELETE FROM webhook_deliveries
),
done AS (
    UPDATE players p
    SET token_hash = sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
    WHERE p.erased_at IS NULL
    RETURNING 1
)
SELECT count(*) FROM done
