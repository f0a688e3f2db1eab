-- renew_recovery: replace the recovery code of the player with a token.
-- $1 token, $2 present code or null, $3 hash of the new code
SELECT renew_recovery($1::text, $2::text, $3::bytea)
