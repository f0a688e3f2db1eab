-- look_up_game: the data that most requests need: the player of a token, and a game's new events.
-- $1 token hash, $2 game, $3 first seq
--
-- One row for a known game; player_id is null for an unknown token. A part of look_up in one
-- statement, whose plan does not depend on its arguments: it takes half the time.
SELECT
    p.player_id, p.name, k.token_id, k.scopes,
    k.used_on IS DISTINCT FROM (now() AT TIME ZONE 'UTC')::date AS is_first_use,
    s.kind, s.version, s.head, g.back,
    CASE WHEN s.version > $3::integer THEN
        ARRAY(
            SELECT e.line FROM events e
            WHERE e.stream_id = $2::uuid AND e.seq >= $3::integer AND e.seq < s.version
            ORDER BY e.seq
        )
    END AS lines
FROM streams s
LEFT JOIN games g ON g.game_id = s.stream_id
LEFT JOIN tokens k ON k.token_hash = $1::bytea AND (k.ends_at IS NULL OR k.ends_at > now())
LEFT JOIN players p ON p.player_id = k.player_id
WHERE s.stream_id = $2::uuid
