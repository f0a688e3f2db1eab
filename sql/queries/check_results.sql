-- check_results: players whose counted hands are not those of the games, with both, for the check.
WITH counted AS (
    SELECT
        s.player_id,
        jsonb_build_object(
            'running', count(*) FILTER (WHERE g.status NOT IN ('ended', 'aborted')),
            'games', count(*) FILTER (WHERE g.status = 'ended'),
            'shithead', count(*) FILTER (WHERE g.status = 'ended' AND g.shithead = s.seat),
            'public_games', count(*) FILTER (WHERE g.status = 'ended' AND g.public),
            'public_shithead',
            count(*) FILTER (WHERE g.status = 'ended' AND g.public AND g.shithead = s.seat)
        ) AS numbers
    FROM game_seats s
    JOIN games g ON g.game_id = s.game_id
    WHERE s.player_id IS NOT NULL
    GROUP BY s.player_id
),
stored AS (SELECT r.player_id, to_jsonb(r) - 'player_id' AS numbers FROM player_results r)
SELECT player_id, stored.numbers::text, counted.numbers::text
FROM stored
FULL JOIN counted USING (player_id)
WHERE stored.numbers IS DISTINCT FROM counted.numbers
ORDER BY player_id
LIMIT 1000
