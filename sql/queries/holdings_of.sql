-- holdings_of: numbers of a player's running games, open tables and rulesets.
-- $1 player
SELECT
    coalesce((SELECT r.running FROM player_results r WHERE r.player_id = $1::uuid), 0),
    (SELECT count(*) FROM tables t WHERE t.host = $1::uuid AND t.status <> 'closed'),
    (SELECT count(*) FROM rulesets_custom c WHERE c.owner = $1::uuid)
