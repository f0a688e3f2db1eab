-- tokens_of: the tokens of a player that have not ended, newest first.
-- $1 player
SELECT token_id, player_id, name, scopes, created_at, ends_at, used_on
FROM tokens
WHERE player_id = $1::uuid AND (ends_at IS NULL OR ends_at > now())
ORDER BY created_at DESC, token_id DESC
