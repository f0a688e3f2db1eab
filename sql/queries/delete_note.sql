-- delete_note: delete a player's note on an event.
-- $1 game, $2 author, $3 seq
SELECT delete_note($1::uuid, $2::uuid, $3::integer)
