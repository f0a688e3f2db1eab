-- list_rulesets: the players' own rulesets, newest first.
-- $1 owner or null, $2 most rows
SELECT ruleset_id, name, owner, document, created_at
FROM rulesets_custom
WHERE $1::uuid IS NULL OR owner = $1::uuid
ORDER BY created_at DESC, ruleset_id DESC
LIMIT $2::bigint
