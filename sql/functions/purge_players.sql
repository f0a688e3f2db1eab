-- purge_players: erase people who registered before a time and never did anything, 1,000 at most.
--
-- Returns how many; whoever calls goes on until there are none.
--
-- Somebody may do their first thing at this moment. Whoever is being held (hold_players) is left
-- alone, the others are locked and looked at once more: what was committed before is seen then,
-- and whatever comes later waits and finds the person erased.
CREATE OR REPLACE FUNCTION purge_players(before timestamptz, at timestamptz) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    found   uuid[];
    locked  uuid[];
BEGIN
    found := ARRAY(SELECT u.player_id FROM unused_players u WHERE u.created_at < before LIMIT 1000);
    locked := ARRAY(
        SELECT p.player_id FROM players p WHERE p.player_id = ANY (found) FOR UPDATE SKIP LOCKED
    );
    RETURN (
        SELECT count(*) FILTER (WHERE erase_player(u.player_id, at))
        FROM unused_players u
        WHERE u.player_id = ANY (locked)
    );
END
$$;
