-- save_ruleset_within: store a custom ruleset, within the player's quota.
-- $1 id, $2 name, $3 owner, $4 document, $5 time, $6 maximum per owner
SELECT save_ruleset_within($1::text, $2::text, $3::uuid, $4::text, $5::timestamptz, $6::integer)
