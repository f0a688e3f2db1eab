-- rename_by_token: set the name of the player with a token.
-- $1 token, $2 name
SELECT rename_by_token($1::text, $2::text)
