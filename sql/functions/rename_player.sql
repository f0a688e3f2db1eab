-- rename_player: another name for a person, for the owner; returns whether there is such a person.
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
