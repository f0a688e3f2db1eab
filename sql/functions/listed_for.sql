-- listed_for: as may_see_game, without referees and invites.
--
-- Only for processes of earlier releases: remove after 2027-05-31.
CREATE OR REPLACE FUNCTION listed_for(viewer uuid, game uuid, its_table uuid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_temp
AS $$
    SELECT viewer IS NOT NULL AND (
        EXISTS (SELECT FROM game_seats s WHERE s.game_id = game AND s.player_id = viewer)
        OR EXISTS (SELECT FROM table_seats s WHERE s.table_id = its_table AND s.player_id = viewer)
        OR EXISTS (SELECT FROM tables t WHERE t.table_id = its_table AND t.host = viewer)
    )
$$;
