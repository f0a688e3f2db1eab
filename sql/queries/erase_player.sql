-- erase_player: remove the personal data of a player.
-- $1 player, $2 time
SELECT erase_player($1::uuid, $2::timestamptz)
