-- backup_tables: every table of the schema with its columns, without generated ones.
SELECT c.relname::text, array_agg(a.attname::text ORDER BY a.attnum)
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
WHERE c.relnamespace = 'public'::regnamespace
    AND c.relkind IN ('r', 'p')
    AND NOT a.attisdropped
    AND a.attgenerated = ''
GROUP BY c.relname
ORDER BY c.relname

-- restore_head_mismatches: number of streams whose last event does not match the stream's row.
SELECT count(*)
FROM streams s
WHERE NOT EXISTS (SELECT FROM archived a WHERE a.stream_id = s.stream_id)
    AND NOT EXISTS (
        SELECT FROM events e
        WHERE e.stream_id = s.stream_id
            AND e.seq = s.version - 1
            AND s.head = sha256('\x00'::bytea || e.line)
    )

-- restore_occupied: names of a few objects in a database that should be empty.
SELECT c.relname::text
FROM pg_class c
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
ORDER BY c.relname
LIMIT 5

-- restore_erase: repeat erasures made after the backup. Returns the number of players erased.
--
-- It deletes what erase_player deletes, but also during a hand: the hand had ended before the
-- erasure, and is running again in the backup. The seat times out, or the operator aborts the hand.
-- $1 players, $2 times
WITH erasures AS (
    SELECT e.player_id, e.erased_at
    FROM unnest($1::uuid[], $2::timestamptz[]) e (player_id, erased_at)
),
deleted_answers AS (
    DELETE FROM answers a USING erasures e WHERE a.caller = e.player_id
),
deleted_tokens AS (
    DELETE FROM tokens k USING erasures e WHERE k.player_id = e.player_id
),
deleted_notes AS (
    DELETE FROM notes n USING erasures e WHERE n.author = e.player_id
),
deleted_blocks AS (
    DELETE FROM blocks b USING erasures e WHERE e.player_id IN (b.player, b.blocked)
),
deleted_invitations AS (
    DELETE FROM invitations i USING erasures e
    WHERE i.player = e.player_id
        OR i.table_id IN (SELECT t.table_id FROM tables t WHERE t.host = e.player_id)
),
deleted_seeks AS (
    DELETE FROM seeks s USING erasures e WHERE s.player_id = e.player_id
),
deleted_challenges AS (
    DELETE FROM challenges c USING erasures e WHERE e.player_id IN (c.challenger, c.player)
),
erased_handles AS (
    UPDATE handles h
    SET
        player_id = NULL, handle = NULL,
        free_at = coalesce(h.free_at, handle_free_at(e.erased_at))
    FROM erasures e
    WHERE h.player_id = e.player_id
),
deleted_webhooks AS (
    DELETE FROM webhooks w USING erasures e WHERE w.player_id = e.player_id
),
deleted_deliveries AS (
    DELETE FROM webhook_deliveries d USING erasures e WHERE d.player_id = e.player_id
),
deleted_ratings AS (
    DELETE FROM ratings r USING erasures e WHERE r.player_id = e.player_id
),
deleted_reasons AS (
    UPDATE dispute_votes v SET reason_key_id = NULL, reason = NULL
    FROM dispute_referees r, erasures e
    WHERE r.dispute_id = v.dispute_id AND r.referee = v.referee AND r.player_id = e.player_id
),
deleted_texts AS (
    UPDATE dispute_texts t SET words = NULL, salt = NULL
    FROM erasures e
    WHERE t.author = e.player_id
),
erased AS (
    UPDATE players p
    SET name = NULL, recovery_hash = NULL, erased_at = e.erased_at
    FROM erasures e
    WHERE p.player_id = e.player_id AND p.erased_at IS NULL
    RETURNING 1
)
SELECT count(*) FROM erased

-- restore_end_tokens: end the tokens and webhooks of all players; returns the number of players.
--
-- Recovery codes remain valid: with them players get new tokens.
WITH ended AS (
    DELETE FROM tokens
),
webhooks_ended AS (
    DELETE FROM webhooks
),
deliveries_ended AS (
    DELETE FROM webhook_deliveries
)
SELECT count(*) FROM players p WHERE p.erased_at IS NULL
