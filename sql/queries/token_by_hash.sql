-- token_by_hash: a token that has not ended.
-- $1 hash of the token
SELECT token_id, player_id, name, scopes, created_at, ends_at, used_on
FROM tokens
WHERE token_hash = $1::bytea AND (ends_at IS NULL OR ends_at > now())
