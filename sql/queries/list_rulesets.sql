-- list_rulesets: custom rulesets, newest first.
-- $1 owner or null, $2 id of the last ruleset of the previous page or null, $3 row limit
SELECT ruleset_id, name, owner, document, created_at
FROM rulesets_custom
WHERE ($1::uuid IS NULL OR owner = $1::uuid)
    AND ($2::text IS NULL OR (created_at, ruleset_id) < (
        SELECT last.created_at, last.ruleset_id
        FROM rulesets_custom AS last
        WHERE last.ruleset_id = $2::text
    ))
ORDER BY created_at DESC, ruleset_id DESC
LIMIT $3::bigint
