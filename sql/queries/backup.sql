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
-- Also during a hand: the hand had ended before the erasure, and is running again in the backup. The
-- seat times out, or the operator aborts the hand.
-- $1 players, $2 times
SELECT count(*)
FROM unnest($1::uuid[], $2::timestamptz[]) e (player_id, erased_at)
WHERE erase_rows(e.player_id, e.erased_at)

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
