-- recover_player: give the player with a recovery code a new token; returns the player or null.
CREATE OR REPLACE FUNCTION recover_player(recovery bytea, token bytea) RETURNS uuid
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    UPDATE players p SET token_hash = token
    WHERE p.recovery_hash = recovery
    RETURNING p.player_id
$$;
