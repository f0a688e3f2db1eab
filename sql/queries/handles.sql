-- choose_handle: set the handle of the player with a token.
-- $1 token, $2 handle, $3 its hash, $4 time, $5 time since when the player may not have chosen one
SELECT choose_handle($1::text, $2::text, $3::bytea, $4::timestamptz, $5::timestamptz)

-- handle_chosen_at: when a player chose the present handle.
-- $1 player
SELECT chosen_at FROM handles WHERE player_id = $1::uuid AND handle IS NOT NULL

-- player_by_handle: the player with a handle.
-- $1 handle
SELECT player_id FROM handles WHERE handle = $1::text

-- handles_with: the players whose handles begin with a text, in order of these.
--
-- Handles are ASCII below "~": one scan of an index finds a few.
-- $1 text, $2 row limit
SELECT h.player_id, p.name, h.handle
FROM handles h
JOIN players p ON p.player_id = h.player_id
WHERE h.handle ~>=~ $1::text AND h.handle ~<~ ($1::text || '~') AND h.handle IS NOT NULL
ORDER BY h.handle USING ~<~
LIMIT $2::bigint

-- known_players: names and handles of some players; those of erased ones are null.
-- $1 players
SELECT p.player_id, p.name, h.handle
FROM players p
LEFT JOIN handles h ON h.player_id = p.player_id AND h.handle IS NOT NULL
WHERE p.player_id = ANY ($1::uuid[])

-- purge_handles: delete hashes that kept handles from others until a time.
-- $1 time
SELECT purge_handles($1::timestamptz)
