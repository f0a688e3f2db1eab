-- recover_player: give the player with a recovery code a new token.
-- $1 hash of the recovery code, $2 hash of the new token
SELECT recover_player($1::bytea, $2::bytea)
