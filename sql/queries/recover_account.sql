-- recover_account: give the player with a recovery code a new token.
-- $1 recovery code, $2 hash of the new token
SELECT recover_account($1::text, $2::bytea)
