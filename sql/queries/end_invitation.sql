-- end_invitation: withdraw an invitation to a table, or decline it.
-- $1 table, $2 player, $3 time at which the player declined, null: the host withdraws it
SELECT end_invitation($1::uuid, $2::uuid, $3::timestamptz)
