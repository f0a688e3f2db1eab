-- set_recovery: replace the recovery code of a player; returns false for an unknown or erased one.
--
-- Only for processes of earlier releases: remove after 2027-05-31.
CREATE OR REPLACE FUNCTION set_recovery(player uuid, recovery bytea) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH done AS (
        UPDATE players p SET recovery_hash = recovery
        WHERE p.player_id = player AND p.erased_at IS NULL
        RETURNING 1
    )
    SELECT EXISTS (SELECT FROM done)
$$;
