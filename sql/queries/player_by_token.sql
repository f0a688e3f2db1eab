-- player_by_token: the player with a token.
-- $1 hash of the token
SELECT p.player_id, p.name, p.created_at, p.erased_at
FROM tokens k
JOIN players p ON p.player_id = k.player_id
WHERE k.token_hash = $1::bytea AND (k.ends_at IS NULL OR k.ends_at > now())
