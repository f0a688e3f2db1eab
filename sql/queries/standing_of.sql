-- standing_of: numbers of a player's finished, lost and running games, tables and rulesets.
-- $1 player, $2 whether finished games are counted at public tables only
WITH played AS (
    SELECT
        count(*) FILTER (WHERE g.status = 'ended' AND (g.public OR NOT $2::boolean)) AS games,
        count(*) FILTER (
            WHERE g.status = 'ended' AND g.shithead = s.seat AND (g.public OR NOT $2::boolean)
        ) AS shithead,
        count(*) FILTER (WHERE g.status NOT IN ('ended', 'aborted')) AS running
    FROM game_seats s
    JOIN games g ON g.game_id = s.game_id
    WHERE s.player_id = $1::uuid
),
hosted AS (
    SELECT count(*) AS hosting
    FROM tables t
    WHERE t.host = $1::uuid AND t.status <> 'closed'
),
owned AS (
    SELECT count(*) AS rulesets FROM rulesets_custom r WHERE r.owner = $1::uuid
)
SELECT games, shithead, running, hosting, rulesets
FROM played, hosted, owned
