-- rotate_token: replace the token of a player; returns false for an unknown or erased one.
--
-- For the operator, who revokes a token without knowing it. Players call renew_token.
CREATE OR REPLACE FUNCTION rotate_token(player uuid, token bytea) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH done AS (
        UPDATE players p SET token_hash = token
        WHERE p.player_id = player AND p.erased_at IS NULL
        RETURNING 1
    )
    SELECT EXISTS (SELECT FROM done)
$$;
