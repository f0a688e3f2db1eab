-- set_name: set the name of a player; returns false for an unknown or erased one.
--
-- Only for processes of earlier releases: remove after 2027-05-31.
CREATE OR REPLACE FUNCTION set_name(player uuid, new_name text) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH done AS (
        UPDATE players p SET name = new_name
        WHERE p.player_id = player AND p.erased_at IS NULL
        RETURNING 1
    )
    SELECT EXISTS (SELECT FROM done)
$$;
