-- erase_player: forget who a person was.
-- $1 player, $2 time
SELECT erase_player($1::uuid, $2::timestamptz)
