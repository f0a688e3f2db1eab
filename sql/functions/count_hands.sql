-- count_hands: count hands that a commit dealt or ended in the rows of their players.
--
-- Called last in a commit, when all its streams are locked: two commits that lock a stream and the
-- row of a player then do so in one order.
--
--   before  by game, its status before the commit; null if the commit dealt it
CREATE OR REPLACE FUNCTION count_hands(before jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    INSERT INTO player_results AS r (
        player_id, running, games, shithead, public_games, public_shithead
    )
    SELECT
        s.player_id,
        count(*) FILTER (WHERE b.value IS NULL)
            - count(*) FILTER (WHERE g.status IN ('ended', 'aborted')),
        count(*) FILTER (WHERE g.status = 'ended'),
        count(*) FILTER (WHERE g.status = 'ended' AND g.shithead = s.seat),
        count(*) FILTER (WHERE g.status = 'ended' AND g.public),
        count(*) FILTER (WHERE g.status = 'ended' AND g.public AND g.shithead = s.seat)
    FROM jsonb_each_text(before) b
    JOIN games g ON g.game_id = b.key::uuid
    JOIN game_seats s ON s.game_id = g.game_id
    WHERE s.player_id IS NOT NULL AND coalesce(b.value, '') NOT IN ('ended', 'aborted')
    GROUP BY s.player_id
    ORDER BY s.player_id
    ON CONFLICT (player_id) DO UPDATE SET
        running = r.running + excluded.running,
        games = r.games + excluded.games,
        shithead = r.shithead + excluded.shithead,
        public_games = r.public_games + excluded.public_games,
        public_shithead = r.public_shithead + excluded.public_shithead;
END
$$;
