-- set_name: set a player's name at the player's own request.
-- $1 player, $2 name
SELECT set_name($1::uuid, $2::text)
