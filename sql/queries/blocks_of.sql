-- blocks_of: the players whom a player blocks, newest first.
-- $1 player
SELECT blocked, at FROM blocks WHERE player = $1::uuid ORDER BY at DESC, blocked
