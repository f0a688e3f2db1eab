-- end_token: end one token of a player.
-- $1 token of the request, $2 id of the token that ends
SELECT end_token($1::text, $2::uuid)
