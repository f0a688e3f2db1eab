-- dispute_findings: the newest findings of a dispute.
-- $1 dispute
SELECT found_at, key_id, sealed
FROM dispute_findings
WHERE dispute_id = $1::uuid
ORDER BY found_at DESC
LIMIT 1
