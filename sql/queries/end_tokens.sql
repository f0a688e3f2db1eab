-- end_tokens: end all tokens of a player.
-- $1 player
SELECT end_tokens($1::uuid)
