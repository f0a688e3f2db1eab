-- set_webhook: replace the webhook of a player by a new one, which waits for its confirmation.
--
-- `caller` is the token of the request itself, not its hash, which the service's role can read. It
-- needs the scopes `account` and `read`, because a webhook reads: SH403 otherwise. The webhook belongs to
-- this token and ends with it. What the old webhook was sent is forgotten, and a worker
-- that holds its claim can store nothing any more.
CREATE OR REPLACE FUNCTION set_webhook(
    caller text, its_url text, its_types text[], its_origin text, its_key text, its_secret bytea,
    at timestamptz
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    its_player  uuid := player_of_issuer(caller);
    its_token   uuid := (
        SELECT k.token_id FROM tokens k
        WHERE k.token_hash = sha256(convert_to(caller, 'UTF8')) AND 'read' = ANY (k.scopes)
    );
BEGIN
    IF its_player IS NULL OR its_token IS NULL THEN
        RAISE EXCEPTION 'the token is unknown, has ended or lacks a scope' USING ERRCODE = 'SH403';
    END IF;

    INSERT INTO webhooks (
        player_id, token_id, url, types, origin, key_id, secret, state, created_at, due_at
    )
    VALUES (
        its_player, its_token, its_url, its_types, its_origin, its_key, its_secret, 'waiting', at, at
    )
    ON CONFLICT ON CONSTRAINT webhooks_pkey DO UPDATE
        SET token_id = excluded.token_id, url = excluded.url, types = excluded.types,
            origin = excluded.origin, key_id = excluded.key_id, secret = excluded.secret,
            state = excluded.state, fault = NULL, status = NULL, failures = 0,
            failing_since = NULL, created_at = excluded.created_at, delivered_at = NULL,
            due_at = excluded.due_at, claim = webhooks.claim + 1, claimed_until = NULL,
            looked_at = NULL, tables = '{}', games = '{}';
    DELETE FROM webhook_deliveries d WHERE d.player_id = its_player;
END
$$;
