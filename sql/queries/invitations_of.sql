-- invitations_of: the open invitations of a player, newest first; only those that the player may see.
-- $1 player, $2 table or null, $3 row limit
SELECT table_id, player, at, host, version, ruleset_id, public
FROM open_invitations
WHERE player = $1::uuid AND ($2::uuid IS NULL OR table_id = $2::uuid)
ORDER BY at DESC, table_id
LIMIT $3::bigint
