-- is_full_token: whether a token has all scopes and no end, as from registration and recovery.
--
-- Such a token, or the recovery code, is needed for what outlasts the token: see renew_recovery.
CREATE OR REPLACE FUNCTION is_full_token(token text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_temp
AS $$
    SELECT EXISTS (
        SELECT FROM tokens k
        WHERE k.token_hash = sha256(convert_to(token, 'UTF8')) AND k.ends_at IS NULL
            AND k.scopes @> ARRAY['read', 'play', 'dispute', 'account']
    )
$$;
