-- player_by_token: the player with a token.
-- $1 hash of the token
SELECT player_id, name, created_at, erased_at FROM players WHERE token_hash = $1::bytea
