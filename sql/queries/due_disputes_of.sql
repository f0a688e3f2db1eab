-- due_disputes_of: disputes of a person, as accuser or accused, in which a period has ended.
-- $1 player, $2 now
SELECT dispute_id
FROM disputes
WHERE (accuser = $1::uuid OR accused = $1::uuid)
    AND state <> 'final'
    AND wake_at <= $2::timestamptz
ORDER BY wake_at
LIMIT 20
