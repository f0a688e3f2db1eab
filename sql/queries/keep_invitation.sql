-- keep_invitation: store that the host of a table invites a player.
-- $1 table, $2 player, $3 time, $4 maximum number of open invitations of the host
SELECT keep_invitation($1::uuid, $2::uuid, $3::timestamptz, $4::integer)
