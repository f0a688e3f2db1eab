-- set_webhook: replace the webhook of the player with a token.
-- $1 token of the request, $2 URL, $3 types, $4 id of the key, $5 encrypted secret, $6 time
SELECT set_webhook($1::text, $2::text, $3::text[], $4::text, $5::bytea, $6::timestamptz)
