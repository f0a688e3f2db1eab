-- erase_by_token: remove the personal data of the player with a token.
-- $1 token, $2 time
SELECT erase_by_token($1::text, $2::timestamptz)
