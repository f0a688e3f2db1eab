-- set_recovery: replace the recovery code of a player.
-- $1 player, $2 hash of the recovery code
SELECT set_recovery($1::uuid, $2::bytea)
