-- save_ruleset: store a custom ruleset.
-- $1 id, $2 name, $3 owner, $4 document, $5 time
SELECT save_ruleset($1::text, $2::text, $3::uuid, $4::text, $5::timestamptz)
