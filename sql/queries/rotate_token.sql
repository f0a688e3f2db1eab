-- rotate_token: replace the token of a player.
-- $1 player, $2 hash of the token
SELECT rotate_token($1::uuid, $2::bytea)
