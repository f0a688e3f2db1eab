-- may_see_game: whether a player, or a caller with an invite, may see a hand of a private table.
--
-- True for its players, the players who sit at its table now, the host, referees of disputes about
-- it until they are recused, and callers with the invite (by its SHA-256). access.py has the same rule
-- for single calls.
CREATE OR REPLACE FUNCTION may_see_game(viewer uuid, invite bytea, game uuid, its_table uuid)
RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_temp
AS $$
    SELECT
        (
            invite IS NOT NULL AND EXISTS (
                SELECT FROM tables t WHERE t.table_id = its_table AND t.invite_hash = invite
            )
        )
        OR (
            viewer IS NOT NULL AND (
                EXISTS (SELECT FROM game_seats s WHERE s.game_id = game AND s.player_id = viewer)
                OR EXISTS (
                    SELECT FROM table_seats s WHERE s.table_id = its_table AND s.player_id = viewer
                )
                OR EXISTS (SELECT FROM tables t WHERE t.table_id = its_table AND t.host = viewer)
                OR EXISTS (
                    SELECT FROM disputes d
                    JOIN dispute_referees r ON r.dispute_id = d.dispute_id
                    WHERE d.game_id = game AND r.player_id = viewer AND NOT r.recused
                )
            )
        )
$$;
