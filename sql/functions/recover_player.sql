-- recover_player: recover_account by the hash of the code.
--
-- Only for processes of earlier releases: remove after 2027-05-31.
CREATE OR REPLACE FUNCTION recover_player(recovery bytea, token bytea) RETURNS uuid
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    UPDATE players p SET token_hash = token
    WHERE p.recovery_hash = recovery
    RETURNING p.player_id
$$;
