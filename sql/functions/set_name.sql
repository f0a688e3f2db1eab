-- set_name: set a player's name at the player's own request.
--
-- Returns false for an unknown or erased player.
--
-- Operators use rename_player, which the service may not execute; the trail records their actions.
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
