-- keep_note: write or replace a player's note on an event.
-- $1 game, $2 author, $3 seq, $4 text, $5 visibility, $6 time, $7 quotas as JSON
SELECT keep_note($1::uuid, $2::uuid, $3::integer, $4::text, $5::text, $6::timestamptz, $7::jsonb)

-- delete_note: delete a player's note on an event.
-- $1 game, $2 author, $3 seq
SELECT delete_note($1::uuid, $2::uuid, $3::integer)

-- notes_of: the notes on a game that a reader may see, in the order of the events.
-- $1 game, $2 reader, $3 whether the reader sees the notes that are written for disputes
SELECT author, seq, words, visibility, at
FROM notes
WHERE game_id = $1::uuid AND (author = $2::uuid OR ($3::boolean AND visibility = 'dispute'))
ORDER BY seq, at, author

-- tables_of: open tables at which a player sits or that the player hosts, newest first.
-- $1 player
SELECT t.table_id
FROM tables t
WHERE t.status <> 'closed' AND (
    t.host = $1::uuid
    OR t.table_id IN (SELECT s.table_id FROM table_seats s WHERE s.player_id = $1::uuid)
)
ORDER BY t.created_at DESC, t.table_id DESC

-- game_by_id: the summary row of a game.
-- $1 game
SELECT
    game_id, table_id, hand, ruleset_id, status, version, turn, dealer,
    created_at, ended_at, reason, shithead, places, public, back, seats
FROM game_rows
WHERE game_id = $1::uuid

-- list_games_of_table: a page of the games of a table, newest first.
-- $1 … $7 as in list_games, $8 table, $9 player or null,
-- $10 SHA-256 of an invite or null
-- $11 since or null, $12 until or null, $13 result or null (result_is), $14 another player or null
-- $15 and $16 since and until for the end of a game
SELECT
    game_id, table_id, hand, ruleset_id, status, version, turn, dealer,
    created_at, ended_at, reason, shithead, places, public, back, seats
FROM game_rows g
WHERE g.table_id = $8::uuid
    AND (g.created_at, g.game_id) < ($5::timestamptz, $6::uuid)
    AND (
        $2::boolean OR g.public OR may_see_game($1::uuid, $10::bytea, g.game_id, g.table_id)
    )
    AND ($3::text IS NULL OR g.ruleset_id = $3::text)
    AND ($4::text IS NULL OR g.status = $4::text)
    AND ($9::uuid IS NULL OR EXISTS (
        SELECT FROM game_seats s WHERE s.game_id = g.game_id AND s.player_id = $9::uuid
    ))
    AND ($11::timestamptz IS NULL OR g.created_at >= $11::timestamptz)
    AND ($12::timestamptz IS NULL OR g.created_at < $12::timestamptz)
    AND (
        $13::text IS NULL OR result_is(
            g.game_id, g.status, g.reason, g.shithead, g.places, $9::uuid, $13::text
        )
    )
    AND ($14::uuid IS NULL OR EXISTS (
        SELECT FROM game_seats o WHERE o.game_id = g.game_id AND o.player_id = $14::uuid
    ))
    AND ($15::timestamptz IS NULL OR g.ended_at >= $15::timestamptz)
    AND ($16::timestamptz IS NULL OR g.ended_at < $16::timestamptz)
ORDER BY g.created_at DESC, g.game_id DESC
LIMIT $7::bigint

-- list_games_of_player: a page of the games of a player, newest first.
-- $1 … $7 as in list_games, $8 player, $9 SHA-256 of an invite or null
-- $10 since or null, $11 until or null, $12 result or null (result_is), $13 another player or null,
-- $14 and $15 since and until for the end of a game, $16 whether only games that are over are listed
SELECT
    g.game_id, table_id, hand, ruleset_id, status, version, turn, dealer,
    created_at, ended_at, reason, shithead, places, public, back, seats
FROM game_seats own
JOIN game_rows g ON g.game_id = own.game_id
WHERE own.player_id = $8::uuid
    AND (own.dealt_at, own.game_id) < ($5::timestamptz, $6::uuid)
    AND (
        $2::boolean OR g.public OR may_see_game($1::uuid, $9::bytea, g.game_id, g.table_id)
    )
    AND ($3::text IS NULL OR g.ruleset_id = $3::text)
    AND ($4::text IS NULL OR g.status = $4::text)
    AND (NOT $16::boolean OR g.status IN ('ended', 'aborted'))
    AND ($10::timestamptz IS NULL OR g.created_at >= $10::timestamptz)
    AND ($11::timestamptz IS NULL OR g.created_at < $11::timestamptz)
    AND (
        $12::text IS NULL OR result_is(
            g.game_id, g.status, g.reason, g.shithead, g.places, $8::uuid, $12::text
        )
    )
    AND ($13::uuid IS NULL OR EXISTS (
        SELECT FROM game_seats o WHERE o.game_id = g.game_id AND o.player_id = $13::uuid
    ))
    AND ($14::timestamptz IS NULL OR g.ended_at >= $14::timestamptz)
    AND ($15::timestamptz IS NULL OR g.ended_at < $15::timestamptz)
ORDER BY own.dealt_at DESC, own.game_id DESC
LIMIT $7::bigint

-- list_games: a page of all games, newest first.
-- $1 viewer or null, $2 whether games that the viewer may not see are listed, $3 ruleset or null,
-- $4 status or null, $5 and $6 time and id of the last row of the previous page, $7 row limit,
-- $8 SHA-256 of an invite or null
-- $9 since or null, $10 until or null, $11 result or null (result_is), $12 another player or null
-- $13 and $14 since and until for the end of a game
SELECT
    game_id, table_id, hand, ruleset_id, status, version, turn, dealer,
    created_at, ended_at, reason, shithead, places, public, back, seats
FROM game_rows g
WHERE (g.created_at, g.game_id) < ($5::timestamptz, $6::uuid)
    AND (
        $2::boolean OR g.public OR may_see_game($1::uuid, $8::bytea, g.game_id, g.table_id)
    )
    AND ($3::text IS NULL OR g.ruleset_id = $3::text)
    AND ($4::text IS NULL OR g.status = $4::text)
    AND ($9::timestamptz IS NULL OR g.created_at >= $9::timestamptz)
    AND ($10::timestamptz IS NULL OR g.created_at < $10::timestamptz)
    AND (
        $11::text IS NULL OR result_is(
            g.game_id, g.status, g.reason, g.shithead, g.places, NULL::uuid, $11::text
        )
    )
    AND ($12::uuid IS NULL OR EXISTS (
        SELECT FROM game_seats o WHERE o.game_id = g.game_id AND o.player_id = $12::uuid
    ))
    AND ($13::timestamptz IS NULL OR g.ended_at >= $13::timestamptz)
    AND ($14::timestamptz IS NULL OR g.ended_at < $14::timestamptz)
ORDER BY g.created_at DESC, g.game_id DESC
LIMIT $7::bigint

-- table_by_id: the summary row of a table.
-- $1 table
SELECT
    table_id, host, version, status, public, ruleset_id, invite_hash,
    created_at, hand, game_id, seats
FROM table_rows
WHERE table_id = $1::uuid

-- list_tables: a page of tables, newest first: public ones, the viewer's own, that of an invite.
--
-- A seat that is reserved for a challenged player is not open to others.
-- $1 viewer or null, $2 whether only the viewer's own are listed, $3 ruleset or null,
-- $4 status or null, $5 and $6 time and id of the last row of the previous page, $7 row limit,
-- $8 SHA-256 of an invite or null
SELECT
    table_id, host, version, status, public, ruleset_id, invite_hash,
    created_at, hand, game_id, seats
FROM table_rows t
WHERE (t.created_at, t.table_id) < ($5::timestamptz, $6::uuid)
    AND (
        ((t.public OR t.invite_hash = $8::bytea) AND NOT $2::boolean)
        OR t.host = $1::uuid
        OR EXISTS (
            SELECT FROM table_seats s WHERE s.table_id = t.table_id AND s.player_id = $1::uuid
        )
    )
    AND ($3::text IS NULL OR t.ruleset_id = $3::text)
    AND ($4::text IS NULL OR t.status = $4::text)
    AND ($4::text IS DISTINCT FROM 'open' OR t.host = $1::uuid OR NOT EXISTS (
        SELECT FROM challenges c
        WHERE c.table_id = t.table_id AND c.state = 'open'
    ))
ORDER BY t.created_at DESC, t.table_id DESC
LIMIT $7::bigint

-- due_games: games with a due action, the longest overdue first.
-- $1 now, $2 row limit
SELECT game_id, version, wake_kind, wake_at
FROM games
WHERE wake_at <= $1::timestamptz
ORDER BY wake_at
LIMIT $2::bigint

-- ready_tables: tables that have waited long enough to deal by themselves, the longest first.
-- $1 time: those that wait since then, $2 row limit
SELECT table_id, version, ready_since
FROM tables
WHERE ready_since <= $1::timestamptz
ORDER BY ready_since
LIMIT $2::bigint

-- games_without_seed: running games whose seed is missing or encrypted with an unknown key.
-- $1 ids of the keys
SELECT g.game_id, g.version, g.created_at, s.key_id
FROM games g
LEFT JOIN secrets s ON s.game_id = g.game_id
WHERE g.status IN ('shuffling', 'swapping', 'playing')
    AND (s.key_id IS NULL OR s.key_id <> ALL ($1::text[]))
ORDER BY g.created_at, g.game_id

-- idle_games: running games with a person in a seat and an old last event, oldest game first.
--
-- Games created after $2 are skipped without reading their events. Games with a deadline in the
-- future are skipped too: the sweeper acts on them.
-- $1 now, $2 latest time of the last event, $3 and $4 time and id of the last row of the previous
-- page, $5 row limit
SELECT g.game_id, g.version, g.created_at
FROM games g
JOIN events e ON e.stream_id = g.game_id AND e.seq = g.version - 1
WHERE g.status IN ('shuffling', 'swapping', 'playing')
    AND g.created_at <= $2::timestamptz
    AND (g.created_at, g.game_id) > ($3::timestamptz, $4::uuid)
    AND coalesce(g.wake_at <= $1::timestamptz, true)
    AND (convert_from(e.line, 'UTF8')::jsonb ->> 'at')::timestamptz <= $2::timestamptz
    AND EXISTS (SELECT FROM game_seats s WHERE s.game_id = g.game_id AND s.kind = 'human')
ORDER BY g.created_at, g.game_id
LIMIT $5::bigint

-- come_back: store the seats that players took back from stand-in bots.
-- $1 game, $2 its version, $3 all seats that players took back, $4 and $5 kind and time of the next
-- action
SELECT come_back($1::uuid, $2::integer, $3::jsonb, $4::text, $5::timestamptz)

-- put_off: set the next action of a game.
-- $1 game, $2 version seen, $3 and $4 kind and time of the next action
SELECT put_off($1::uuid, $2::integer, $3::text, $4::timestamptz)

-- note_able: record that the service can take moves.
-- $1 shortest gap that is an outage
SELECT note_able($1::interval)

-- able_since: the end of the last outage, null before the first one; now, while it lasts.
-- $1 shortest gap that is an outage
SELECT CASE
    WHEN clock_timestamp() - seen_at > $1::interval THEN clock_timestamp() ELSE able_since
END
FROM availability

-- record_attempt: store a refused move of a running game.
-- $1 game, $2 id, $3 time, $4 seat, $5 key id, $6 ciphertext
SELECT record_attempt($1::uuid, $2::uuid, $3::timestamptz, $4::integer, $5::text, $6::bytea)

-- refusals_of: the refused moves of a game in order of their times, then of arrival.
-- $1 game
SELECT refusal_id, at, seat, key_id, sealed
FROM refusals
WHERE game_id = $1::uuid
ORDER BY at, arrival

-- purge_refusals: delete a batch of refused moves of games that were over before a time; returns
-- how many, 0 at the end.
-- $1 time
SELECT purge_refusals($1::timestamptz)

-- record_readings: record a read of private data of several games in their access logs.
-- $1 games, $2 time, $3 reader, $4 resource that was read
SELECT record_reading(game, $2::timestamptz, $3::uuid, $4::text) FROM unnest($1::uuid[]) game

-- readings_of: a page of the access log of a game, newest first.
-- $1 game, $2 and $3 time and id of the last row of the previous page, $4 row limit
SELECT reading_id, at, reader, what
FROM readings
WHERE game_id = $1::uuid AND (at, reading_id) < ($2::timestamptz, $3::uuid)
ORDER BY at DESC, reading_id DESC
LIMIT $4::bigint
