-- renew_token: replace a bearer token.
-- $1 token, $2 hash of the new one
SELECT renew_token($1::text, $2::bytea)
