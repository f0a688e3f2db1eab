-- add_token: add a token of a player; `its_scopes` null: all scopes.
CREATE OR REPLACE FUNCTION add_token(
    its_id uuid, token bytea, player uuid, its_name text, its_scopes text[], at timestamptz,
    its_end timestamptz
) RETURNS void
LANGUAGE sql SET search_path = public, pg_temp
AS $$
    INSERT INTO tokens (token_id, token_hash, player_id, name, scopes, created_at, ends_at)
    VALUES (
        its_id, token, player, its_name,
        coalesce(its_scopes, ARRAY['read', 'play', 'dispute', 'account']), at, its_end
    )
$$;
