-- look_up_game: the data that most requests need: the player of a token, and a game's new events.
-- $1 token hash, $2 game, $3 first seq
--
-- One row for a known game; player_id is null for an unknown token. A part of look_up in one
-- statement, whose plan does not depend on its arguments: it takes half the time.
SELECT
    p.player_id, p.name, s.kind, s.version, s.head, g.back,
    CASE WHEN s.version > $3::integer THEN
        ARRAY(
            SELECT e.line FROM events e
            WHERE e.stream_id = $2::uuid AND e.seq >= $3::integer AND e.seq < s.version
            ORDER BY e.seq
        )
    END AS lines
FROM streams s
LEFT JOIN games g ON g.game_id = s.stream_id
LEFT JOIN players p ON p.token_hash = $1::bytea
WHERE s.stream_id = $2::uuid
