-- blocks_among: the blocks between some players.
-- $1 players
SELECT player, blocked FROM blocks WHERE player = ANY ($1::uuid[]) AND blocked = ANY ($1::uuid[])
