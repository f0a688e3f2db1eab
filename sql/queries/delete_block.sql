-- delete_block: end a player's block of another.
-- $1 player, $2 the other
SELECT delete_block($1::uuid, $2::uuid)
