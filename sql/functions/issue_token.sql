-- issue_token: add a token for the player of the issuing one, which ends if `replaces` is true.
--
-- `issuer` is the token of the request itself, not its hash, which the service's role can read. It
-- needs the scope `account`, and the new token exceeds it neither in scopes nor in time: SH403
-- otherwise. SH429 for a player who has `most` tokens. Tokens that have ended are deleted here. The
-- webhook of a token that is replaced belongs to the new one, if that could have set it, else it ends.
CREATE OR REPLACE FUNCTION issue_token(
    issuer text, its_id uuid, token bytea, its_name text, its_scopes text[], at timestamptz,
    its_end timestamptz, replaces boolean, most integer
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    its_player  uuid  := player_of_issuer(issuer);
    old_hash    bytea := sha256(convert_to(issuer, 'UTF8'));
    old_id      uuid  := (SELECT k.token_id FROM tokens k WHERE k.token_hash = old_hash);
BEGIN
    IF its_player IS NULL THEN
        RAISE EXCEPTION 'the token is unknown, has ended or lacks a scope' USING ERRCODE = 'SH403';
    END IF;

    IF NOT EXISTS (
        SELECT FROM tokens k
        WHERE k.token_hash = old_hash AND its_scopes <@ k.scopes
            AND (k.ends_at IS NULL OR its_end <= k.ends_at)
    ) THEN
        RAISE EXCEPTION 'the token would exceed its issuer' USING ERRCODE = 'SH403';
    END IF;

    DELETE FROM tokens k
    WHERE k.player_id = its_player
        AND (k.ends_at <= now() OR (replaces AND k.token_hash = old_hash));
    PERFORM refuse_over_quota(jsonb_build_array(
        jsonb_build_object('player', its_player, 'kind', 'tokens', 'most', most)
    ));
    PERFORM add_token(its_id, token, its_player, its_name, its_scopes, at, its_end);

    IF replaces AND its_scopes @> ARRAY['read', 'account'] THEN
        UPDATE webhooks w SET token_id = its_id WHERE w.player_id = its_player AND w.token_id = old_id;
    ELSIF replaces THEN
        PERFORM stop_webhook(its_player, old_id);
    END IF;
END
$$;
