-- look_up: the data that a request needs first: its player, stored answer and game.
-- $1 token hash, $2 request key, $3 game, $4 first seq, $5 players whose names are read,
-- $6 whether the data outside the game's log is read
SELECT
    player_id, name, token_id, scopes, is_first_use, body_hash, sealed, kind, version, head, lines, back, names,
    key_id, ciphertext, table_id, host, public, invite_hash, seats, opened
FROM look_up_request($1::bytea, $2::bytea, $3::uuid, $4::integer, $5::uuid[], $6::boolean)

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

-- look_up_seal: data for the end of a hand: its refused moves, and new events of its table.
-- The refused moves are arrays, one for each column; null if there are none.
-- $1 game, $2 table, $3 first seq of the table
SELECT
    s.kind, s.version, s.head,
    ARRAY(
        SELECT e.line FROM events e WHERE e.stream_id = $2::uuid AND e.seq >= $3::integer ORDER BY e.seq
    ) AS lines,
    r.ids, r.times, r.seats, r.keys, r.sealed
FROM (
    SELECT
        array_agg(o.refusal_id) AS ids,
        array_agg(o.at) AS times,
        array_agg(o.seat) AS seats,
        array_agg(o.key_id) AS keys,
        array_agg(o.sealed) AS sealed
    FROM (
        SELECT f.refusal_id, f.at, f.seat, f.key_id, f.sealed
        FROM refusals f
        WHERE f.game_id = $1::uuid
        ORDER BY f.at, f.arrival
    ) o
) r
LEFT JOIN streams s ON s.stream_id = $2::uuid
