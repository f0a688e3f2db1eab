-- check_blind_choices: the blind choices counted for a game, and its players by seat.
--
-- They are null if the game is not counted yet: its outbox row is still there.
-- $1 game
SELECT
    CASE WHEN NOT EXISTS (
        SELECT FROM outbox o WHERE o.stream_id = $1::uuid AND o.topic = 'statistics'
    ) THEN
        coalesce(
            (
                SELECT jsonb_agg(jsonb_build_array(
                    c.seq, c.player_id, c.slots, c.playable, c.fitted
                ) ORDER BY c.seq)
                FROM blind_choices c
                WHERE c.game_id = $1::uuid
            ),
            '[]'::jsonb
        )
    END,
    ARRAY(SELECT s.player_id FROM game_seats s WHERE s.game_id = $1::uuid ORDER BY s.seat)
