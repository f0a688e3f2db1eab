-- list_trail: the operator log, newest first.
-- $1 row limit or null; of the others each restricts the list unless it is null:
-- $2 operator, $3 act, $4 target, $5 outcome or its first word, $6 first time, $7 time of the end
SELECT at, operator, act, target, outcome FROM trail
WHERE operator = coalesce($2::text, operator)
  AND act = coalesce($3::text, act)
  AND ($4::uuid IS NULL OR target = $4)
  AND ($5::text IS NULL OR $5 IN (outcome, split_part(outcome, ' ', 1)))
  AND at >= coalesce($6::timestamptz, '-infinity')
  AND at < coalesce($7::timestamptz, 'infinity')
ORDER BY at DESC, entry_id DESC LIMIT $1::bigint
