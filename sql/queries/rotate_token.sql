-- rotate_token: a new token for a person; the old one ends.
-- $1 player, $2 hash of the token
SELECT rotate_token($1::uuid, $2::bytea)
