-- note_token_use: store today as the day of the last use of a token.
-- $1 hash of the token
SELECT note_token_use($1::bytea)
