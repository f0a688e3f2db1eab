-- renew_recovery: replace the recovery code of the player with a token.
-- $1 token, $2 hash of the recovery code
SELECT renew_recovery($1::text, $2::bytea)
