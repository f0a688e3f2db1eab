-- list_tables: a page of tables, newest first: public ones, the viewer's own, that of an invite.
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
ORDER BY t.created_at DESC, t.table_id DESC
LIMIT $7::bigint
