-- create_player: add a player.
-- $1 player, $2 name, $3 hash of the token, $4 hash of the recovery code, $5 time
SELECT create_player($1::uuid, $2::text, $3::bytea, $4::bytea, $5::timestamptz)
