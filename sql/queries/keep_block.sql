-- keep_block: store that a player blocks another.
-- $1 player, $2 the other, $3 time, $4 maximum number of blocks of a player
SELECT keep_block($1::uuid, $2::uuid, $3::timestamptz, $4::integer)
