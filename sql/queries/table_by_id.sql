-- table_by_id: the summary row of a table.
-- $1 table
SELECT
    table_id, host, version, status, public, ruleset_id, invite_hash,
    created_at, hand, game_id, seats
FROM table_rows
WHERE table_id = $1::uuid
