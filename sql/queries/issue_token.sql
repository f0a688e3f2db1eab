-- issue_token: add a token for the player of another one.
-- $1 issuing token, $2 id, $3 hash, $4 name, $5 scopes, $6 time, $7 end or null, $8 whether the issuing
-- token ends, $9 maximum number of tokens
SELECT issue_token(
    $1::text, $2::uuid, $3::bytea, $4::text, $5::text[], $6::timestamptz, $7::timestamptz,
    $8::boolean, $9::integer
)
