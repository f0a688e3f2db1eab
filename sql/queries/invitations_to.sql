-- invitations_to: the invitations to a table that its host has sent, newest first.
-- $1 table
SELECT player, at, declined_at FROM invitations WHERE table_id = $1::uuid ORDER BY at DESC, player
