-- create_player: add a player.
-- $1 player, $2 name, $3 hash of the token, $4 hash of the recovery code, $5 time
SELECT create_player($1::uuid, $2::text, $3::bytea, $4::bytea, $5::timestamptz)

-- player_by_id: a player, erased or not.
-- $1 player
SELECT p.player_id, p.name, p.created_at, p.erased_at, h.handle
FROM players p
LEFT JOIN handles h ON h.player_id = p.player_id AND h.handle IS NOT NULL
WHERE p.player_id = $1::uuid

-- player_by_token: the player with a token.
-- $1 hash of the token
SELECT p.player_id, p.name, p.created_at, p.erased_at
FROM tokens k
JOIN players p ON p.player_id = k.player_id
WHERE k.token_hash = $1::bytea AND (k.ends_at IS NULL OR k.ends_at > now())

-- token_by_hash: a token that has not ended.
-- $1 hash of the token
SELECT token_id, player_id, name, scopes, created_at, ends_at, used_on
FROM tokens
WHERE token_hash = $1::bytea AND (ends_at IS NULL OR ends_at > now())

-- tokens_of: the tokens of a player that have not ended, newest first.
-- $1 player
SELECT token_id, player_id, name, scopes, created_at, ends_at, used_on
FROM tokens
WHERE player_id = $1::uuid AND (ends_at IS NULL OR ends_at > now())
ORDER BY created_at DESC, token_id DESC

-- issue_token: add a token for the player of another one.
-- $1 issuing token, $2 id, $3 hash, $4 name, $5 scopes, $6 time, $7 end or null, $8 whether the issuing
-- token ends, $9 maximum number of tokens
SELECT issue_token(
    $1::text, $2::uuid, $3::bytea, $4::text, $5::text[], $6::timestamptz, $7::timestamptz,
    $8::boolean, $9::integer
)

-- end_token: end one token of a player.
-- $1 token of the request, $2 id of the token that ends
SELECT end_token($1::text, $2::uuid)

-- note_token_use: store today as the day of the last use of a token.
-- $1 hash of the token
SELECT note_token_use($1::bytea)

-- recover_account: give the player with a recovery code a new token.
-- $1 recovery code, $2 hash of the new token
SELECT recover_account($1::text, $2::bytea)

-- renew_recovery: replace the recovery code of the player with a token.
-- $1 token, $2 present code or null, $3 hash of the new code
SELECT renew_recovery($1::text, $2::text, $3::bytea)

-- rename_by_token: set the name of the player with a token.
-- $1 token, $2 name
SELECT rename_by_token($1::text, $2::text)

-- erase_by_token: remove the personal data of the player with a token.
-- $1 token, $2 time
SELECT erase_by_token($1::text, $2::timestamptz)

-- erase_player: remove the personal data of a player.
-- $1 player, $2 time
SELECT erase_player($1::uuid, $2::timestamptz)

-- erased_players: players erased since a time, or all erased players; the earliest erasure first.
-- $1 time; null for all
SELECT p.player_id, p.erased_at
FROM players p
WHERE p.erased_at IS NOT NULL AND ($1::timestamptz IS NULL OR p.erased_at >= $1::timestamptz)
ORDER BY p.erased_at, p.player_id

-- names_of: the names of players; erased ones are left out.
-- $1 players
SELECT player_id, name FROM players WHERE player_id = ANY ($1::uuid[]) AND name IS NOT NULL

-- keep_block: store that a player blocks another.
-- $1 player, $2 the other, $3 time, $4 maximum number of blocks of a player
SELECT keep_block($1::uuid, $2::uuid, $3::timestamptz, $4::integer)

-- delete_block: end a player's block of another.
-- $1 player, $2 the other
SELECT delete_block($1::uuid, $2::uuid)

-- blocks_of: the players whom a player blocks, newest first.
-- $1 player
SELECT blocked, at FROM blocks WHERE player = $1::uuid ORDER BY at DESC, blocked

-- blocks_among: the blocks between some players.
-- $1 players
SELECT player, blocked FROM blocks WHERE player = ANY ($1::uuid[]) AND blocked = ANY ($1::uuid[])

-- blocks_between: the blocks between some players, as their places in the list, from 0.
-- $1 players
WITH chosen AS MATERIALIZED (
    SELECT c.player, (c.place - 1)::integer AS place
    FROM unnest($1::uuid[]) WITH ORDINALITY c (player, place)
)
SELECT one.place, array_agg(other.place)
FROM chosen one
JOIN blocks b ON b.player = one.player
JOIN chosen other ON other.player = b.blocked
GROUP BY one.place

-- purge_players: erase players who registered before a time and were never active.
-- $1 time before which they registered, $2 time of the erasure
SELECT purge_players($1::timestamptz, $2::timestamptz)

-- save_ruleset: store a custom ruleset.
-- $1 id, $2 name, $3 owner, $4 document, $5 time
SELECT save_ruleset($1::text, $2::text, $3::uuid, $4::text, $5::timestamptz)

-- save_ruleset_within: store a custom ruleset, within the player's quota.
-- $1 id, $2 name, $3 owner, $4 document, $5 time, $6 maximum per owner
SELECT save_ruleset_within($1::text, $2::text, $3::uuid, $4::text, $5::timestamptz, $6::integer)

-- ruleset_by_id: a custom ruleset.
-- $1 id
SELECT ruleset_id, name, owner, document, created_at FROM rulesets_custom WHERE ruleset_id = $1::text

-- list_rulesets: custom rulesets, newest first.
-- $1 owner or null, $2 id of the last ruleset of the previous page or null, $3 row limit
SELECT ruleset_id, name, owner, document, created_at
FROM rulesets_custom
WHERE ($1::uuid IS NULL OR owner = $1::uuid)
    AND ($2::text IS NULL OR (created_at, ruleset_id) < (
        SELECT last.created_at, last.ruleset_id
        FROM rulesets_custom AS last
        WHERE last.ruleset_id = $2::text
    ))
ORDER BY created_at DESC, ruleset_id DESC
LIMIT $3::bigint
