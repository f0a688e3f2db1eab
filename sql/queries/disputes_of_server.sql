-- disputes_of_server: running disputes against the server, oldest first.
-- $1 row limit
SELECT dispute_id
FROM disputes
WHERE accused IS NULL
    AND charge IN ('wrong_deal', 'altered_log')
    AND state <> 'final'
ORDER BY opened_at, dispute_id
LIMIT $1::bigint
