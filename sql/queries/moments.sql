-- keep_moment: keep a moment of a hand for a player; false above the quota.
-- $1 columns as JSON, $2 the most of a player
SELECT keep_moment($1::jsonb, $2::integer)

-- change_moments: set the words or the list of a moment, or of all in a list; returns how many there are.
-- $1 player, $2 moment or null, $3 list or null, $4 words or null, $5 new list or null
SELECT change_moments($1::uuid, $2::uuid, $3::text, $4::text, $5::text)

-- delete_moment: delete a moment of a player; returns whether there was one.
-- $1 player, $2 moment
SELECT delete_moment($1::uuid, $2::uuid)

-- moment_of: a moment of a player.
-- $1 player, $2 moment
SELECT moment_id, game_id, version, viewer, list_name, words, kept_at
FROM moments
WHERE player_id = $1::uuid AND moment_id = $2::uuid

-- moments_of: moments of a player, newest first.
-- $1 player, $2 list or null for all, $3 time and $4 id of the moment before the first one, $5 row limit
SELECT moment_id, game_id, version, viewer, list_name, words, kept_at
FROM moments
WHERE player_id = $1::uuid
    AND ($2::text IS NULL OR list_name = $2::text)
    AND (kept_at, moment_id) < ($3::timestamptz, $4::uuid)
ORDER BY kept_at DESC, moment_id DESC
LIMIT $5::bigint

-- moment_lists: the lists of a player's moments by name, with the number of moments in each.
-- $1 player
SELECT list_name, count(*) FROM moments WHERE player_id = $1::uuid GROUP BY list_name ORDER BY list_name
