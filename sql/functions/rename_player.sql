-- rename_player: set the name of a player; returns false for an unknown or erased one.
--
-- Only the owner of the database may call it; see rename_by_token.
CREATE OR REPLACE FUNCTION rename_player(player uuid, new_name text) RETURNS boolean
LANGUAGE sql SET search_path = public, pg_temp
AS $$
    WITH done AS (
        UPDATE players p SET name = new_name
        WHERE p.player_id = player AND p.erased_at IS NULL
        RETURNING 1
    )
    SELECT EXISTS (SELECT FROM done)
$$;
