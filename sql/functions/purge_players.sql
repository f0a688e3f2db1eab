-- purge_players: erase people who registered before a time and never did anything, 1,000 at most.
--
-- Returns how many; whoever calls goes on until there are none.
-- Doing something is what leaves a trace: a seat, a table, a ruleset, a part in a dispute.
CREATE OR REPLACE FUNCTION purge_players(before timestamptz, at timestamptz) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT count(erase_player(unused.player_id, at))
    FROM (
        SELECT p.player_id
        FROM players p
        WHERE p.erased_at IS NULL AND p.created_at < before
            AND NOT EXISTS (SELECT FROM game_seats s WHERE s.player_id = p.player_id)
            AND NOT EXISTS (SELECT FROM table_seats s WHERE s.player_id = p.player_id)
            AND NOT EXISTS (SELECT FROM tables t WHERE t.host = p.player_id)
            AND NOT EXISTS (SELECT FROM rulesets_custom r WHERE r.owner = p.player_id)
            AND NOT EXISTS (SELECT FROM disputes d WHERE d.accuser = p.player_id)
            AND NOT EXISTS (SELECT FROM dispute_referees r WHERE r.player_id = p.player_id)
        LIMIT 1000
    ) unused
$$;
