-- standing_of: a player's counts of games, tally and running tables.
-- $1 player, $2 whether games ended are counted at public tables only
SELECT
    count(*) FILTER (WHERE g.status = 'ended' AND (g.public OR NOT $2::boolean)) AS games,
    count(*) FILTER (
        WHERE g.status = 'ended' AND g.shithead = s.seat AND (g.public OR NOT $2::boolean)
    ) AS shithead,
    count(*) FILTER (WHERE g.status NOT IN ('ended', 'aborted')) AS running,
    (
        SELECT count(*) FROM tables t
        WHERE t.host = $1::uuid AND t.status <> 'closed'
    ) AS hosting,
    (SELECT count(*) FROM rulesets_custom r WHERE r.owner = $1::uuid) AS rulesets
FROM game_seats s
JOIN games g ON g.game_id = s.game_id
WHERE s.player_id = $1::uuid
