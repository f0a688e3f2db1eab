-- ruleset_by_id: a custom ruleset.
-- $1 id
SELECT ruleset_id, name, owner, document, created_at FROM rulesets_custom WHERE ruleset_id = $1::text
