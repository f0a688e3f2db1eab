-- rename_player: set the name of a player.
-- $1 player, $2 name
SELECT rename_player($1::uuid, $2::text)
