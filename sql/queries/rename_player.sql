-- rename_player: another name for a person.
-- $1 player, $2 name
SELECT rename_player($1::uuid, $2::text)
