-- disputes_of_game: a page of the disputes about a game, newest first.
-- $1 game, $2 and $3 time and id of the last row of the previous page, $4 row limit
SELECT dispute_id, opened_at
FROM disputes
WHERE game_id = $1::uuid AND (opened_at, dispute_id) < ($2::timestamptz, $3::uuid)
ORDER BY opened_at DESC, dispute_id DESC
LIMIT $4::bigint

-- list_disputes: a page of the disputes that the viewer may see, newest first.
--
-- A row has the state at its last event. If a period has ended since, or findings are missing, the
-- present state may differ: such rows are returned for every state.
-- $1 viewer or null, $2 SHA-256 of an invite or null, $3 state or null, $4 now,
-- $5 and $6 time and id of the last row of the previous page, $7 row limit
SELECT d.dispute_id, d.opened_at
FROM disputes d
JOIN games g ON g.game_id = d.game_id
WHERE (d.opened_at, d.dispute_id) < ($5::timestamptz, $6::uuid)
    AND (g.public OR may_see_game($1::uuid, $2::bytea, g.game_id, g.table_id))
    AND (
        $3::text IS NULL
        OR d.state = $3::text
        OR (d.state <> 'final' AND (
            d.wake_at <= $4::timestamptz
            OR (d.found_at < g.version AND g.ended_at IS NOT NULL)
        ))
    )
ORDER BY d.opened_at DESC, d.dispute_id DESC
LIMIT $7::bigint

-- list_own_disputes: a page of the disputes of a player, as a side or as a referee, newest first.
--
-- By the state as in list_disputes.
-- $1 player, $2 state or null, $3 now, $4 and $5 time and id of the last row of the previous page,
-- $6 row limit
SELECT d.dispute_id, d.opened_at
FROM disputes d
JOIN games g ON g.game_id = d.game_id
WHERE (d.opened_at, d.dispute_id) < ($4::timestamptz, $5::uuid)
    AND (
        d.accuser = $1::uuid
        OR d.accused = $1::uuid
        OR d.partner = $1::uuid
        OR d.dispute_id IN (
            SELECT r.dispute_id FROM dispute_referees r
            WHERE r.player_id = $1::uuid AND NOT r.recused
        )
    )
    AND (
        $2::text IS NULL
        OR d.state = $2::text
        OR (d.state <> 'final' AND (
            d.wake_at <= $3::timestamptz
            OR (d.found_at < g.version AND g.ended_at IS NOT NULL)
        ))
    )
ORDER BY d.opened_at DESC, d.dispute_id DESC
LIMIT $6::bigint

-- dispute_texts: the texts of a dispute; null if the author was erased.
-- $1 dispute
SELECT seq, words, salt FROM dispute_texts WHERE dispute_id = $1::uuid ORDER BY seq

-- dispute_bundle: the evidence that was frozen when a dispute was opened.
-- $1 dispute
SELECT bundle FROM dispute_bundles WHERE dispute_id = $1::uuid

-- dispute_findings: the newest findings of a dispute.
-- $1 dispute
SELECT found_at, key_id, sealed
FROM dispute_findings
WHERE dispute_id = $1::uuid
ORDER BY found_at DESC
LIMIT 1

-- dispute_votes: the encrypted votes, with their reasons, that are stored for the referees of a dispute.
-- $1 dispute
SELECT referee, key_id, sealed, reason_key_id, reason FROM dispute_votes WHERE dispute_id = $1::uuid

-- due_disputes_of: disputes of a person, as accuser or accused, in which a period has ended.
-- $1 player, $2 now
SELECT dispute_id
FROM disputes
WHERE (accuser = $1::uuid OR accused = $1::uuid)
    AND state <> 'final'
    AND wake_at <= $2::timestamptz
ORDER BY wake_at
LIMIT 20

-- put_off_dispute: set the next check of a dispute.
-- $1 dispute, $2 version seen, $3 time of the next check
SELECT put_off_dispute($1::uuid, $2::integer, $3::timestamptz)

-- running_disputes: running disputes with a charge about a move of a game, or about two players.
--
-- $1 game, $2 charge, $3 first event of the move or null, $4 and $5 of collusion: accused, partner
SELECT dispute_id
FROM disputes
WHERE game_id = $1::uuid
    AND charge = $2::text
    AND state <> 'final'
    AND move IS NOT DISTINCT FROM $3::integer
    AND partner IS NOT DISTINCT FROM $5::uuid
    AND (partner IS NULL OR accused = $4::uuid)
ORDER BY opened_at, dispute_id

-- withdrawn_dispute: the dispute with a charge that this accuser withdrew.
--
-- $1 game, $2 accuser, $3 charge, $4 to $6 as $3 to $5 of running_disputes
SELECT dispute_id
FROM disputes
WHERE game_id = $1::uuid
    AND accuser = $2::uuid
    AND charge = $3::text
    AND withdrawn
    AND move IS NOT DISTINCT FROM $4::integer
    AND partner IS NOT DISTINCT FROM $6::uuid
    AND (partner IS NULL OR accused = $5::uuid)

-- experience_of: what some referees have done, for the sides that may refuse them.
--
-- Hands at public tables, and disputes about public games that a panel with the player has ruled on,
-- of which at most $2 are counted.
-- $1 players, $2 limit
SELECT p.player_id, p.created_at, coalesce(r.public_games, 0), judged.n
FROM players p
LEFT JOIN player_results r ON r.player_id = p.player_id
CROSS JOIN LATERAL (
    SELECT count(*)::integer AS n
    FROM (
        SELECT 1
        FROM dispute_referees e
        JOIN disputes d ON d.dispute_id = e.dispute_id
        JOIN games g ON g.game_id = d.game_id
        WHERE e.player_id = p.player_id AND e.ruled AND g.public
        LIMIT $2::bigint
    ) found
) judged
WHERE p.player_id = ANY ($1::uuid[])

-- disputes_of_server: running disputes against the server, oldest first.
-- $1 row limit
SELECT dispute_id
FROM disputes
WHERE accused IS NULL
    AND charge IN ('wrong_deal', 'altered_log')
    AND state <> 'final'
ORDER BY opened_at, dispute_id
LIMIT $1::bigint

-- due_disputes: disputes in which a period has ended, or whose findings are missing or out of date.
--
-- Findings are out of date if they were made before the game ended.
-- $1 now, $2 time: disputes opened by then should have findings, $3 row limit
SELECT d.dispute_id
FROM disputes d
JOIN games g ON g.game_id = d.game_id
WHERE d.state <> 'final' AND (
    d.wake_at <= $1::timestamptz
    OR (d.found_at = 0 AND d.opened_at <= $2::timestamptz)
    OR (d.found_at > 0 AND d.found_at < g.version AND g.ended_at IS NOT NULL)
)
ORDER BY d.opened_at
LIMIT $3::bigint

-- referee_at: whether a player is a referee in a dispute about a game of a table.
-- $1 table, $2 player
SELECT EXISTS (
    SELECT 1 FROM dispute_referees r
    JOIN disputes d ON d.dispute_id = r.dispute_id
    JOIN games g ON g.game_id = d.game_id
    WHERE r.player_id = $2::uuid AND NOT r.recused AND g.table_id = $1::uuid
)

-- referee_of: whether a player is a referee in a dispute about a game.
-- $1 game, $2 player
SELECT EXISTS (
    SELECT FROM disputes d
    JOIN dispute_referees r ON r.dispute_id = d.dispute_id
    WHERE d.game_id = $1::uuid AND r.player_id = $2::uuid AND NOT r.recused
)

-- games_judged: games with a dispute in which one player is a referee and another is the accused.
-- $1 referee, $2 accused
SELECT DISTINCT d.game_id
FROM dispute_referees r
JOIN disputes d ON d.dispute_id = r.dispute_id
WHERE r.player_id = $1::uuid AND NOT r.recused AND d.accused = $2::uuid
ORDER BY d.game_id

-- accusations_of: counts of a player's accusations, and whether the player is a cad.
--
-- `upheld` and `cad` count final rulings only; `known` counts disputes about public games, and those
-- with a final ruling.
-- $1 player, $2 disputes opened after this time count as new
SELECT
    count(*) FILTER (WHERE d.accuser = $1::uuid) AS made,
    count(*) FILTER (WHERE d.accuser = $1::uuid AND final AND found) AS upheld,
    count(*) FILTER (WHERE d.accuser = $1::uuid AND NOT final) AS running,
    count(*) FILTER (WHERE d.accuser = $1::uuid AND d.opened_at > $2::timestamptz) AS new,
    coalesce(bool_or(d.accused = $1::uuid AND final AND d.verdict = 'cad'), false) AS cad,
    count(*) FILTER (
        WHERE d.accuser = $1::uuid AND (g.public OR (final AND (found OR d.verdict IS NOT NULL)))
    ) AS known
FROM disputes d
LEFT JOIN games g ON g.game_id = d.game_id
CROSS JOIN LATERAL (
    SELECT
        d.state = 'final' AS final,
        coalesce(d.verdict = 'cad', false) OR coalesce(d.proven, false) AS found
) s
WHERE d.accuser = $1::uuid OR d.accused = $1::uuid

-- outbox_waiting: the streams with the oldest outbox rows of a topic; the rows stay.
-- $1 topic, $2 row limit
SELECT stream_id FROM outbox WHERE topic = $1::text ORDER BY created_at LIMIT $2::bigint

-- oldest_outbox_time: the time of the oldest outbox row of a topic.
-- $1 topic
SELECT created_at FROM outbox WHERE topic = $1::text ORDER BY created_at LIMIT 1

-- connections_in_use: the number of sessions of the server, and how many it allows.
SELECT sum(numbackends)::integer, current_setting('max_connections')::integer FROM pg_stat_database

-- cleanup_held: the age in seconds of the oldest transaction, and the bytes of WAL that slots hold.
-- Transactions of other roles are seen only by a member of pg_read_all_stats.
SELECT
    (
        SELECT coalesce(extract(epoch FROM clock_timestamp() - min(xact_start)), 0)::float8
        FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
    ),
    (
        SELECT coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)), 0)::float8
        FROM pg_replication_slots
    )

-- query_times: text, calls and seconds of the statements that took most time.
-- $1 row limit
SELECT query, calls, seconds FROM query_times($1::integer)

-- keep_facts: store the data of a game for statistics, and delete its outbox row.
-- $1 game, $2 its deck as JSON or null, $3 blind choices as JSON
SELECT keep_facts($1::uuid, $2::jsonb, $3::jsonb)

-- shuffled_decks: the decks of games that are over, oldest first.
-- $1 and $2 time and id of the last row of the previous page, $3 row limit,
-- $4 true: public games, false: private ones, null: all, $5 ended before this time or null
SELECT s.game_id, s.ruleset_id, s.aborted, s.deck, s.dealt, s.to_people, s.ended_at
FROM shuffled_decks s
WHERE (s.ended_at, s.game_id) > ($1::timestamptz, $2::uuid)
    AND ($4::boolean IS NULL OR EXISTS (
        SELECT FROM games g WHERE g.game_id = s.game_id AND g.public = $4::boolean
    ))
    AND ($5::timestamptz IS NULL OR s.ended_at < $5::timestamptz)
ORDER BY s.ended_at, s.game_id
LIMIT $3::bigint

-- blind_choices_of: a player's choices among face-down cards, oldest first.
-- $1 player
SELECT game_id, seq, slots, playable, fitted
FROM blind_choices
WHERE player_id = $1::uuid
ORDER BY ended_at, game_id, seq
