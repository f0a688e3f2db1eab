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
