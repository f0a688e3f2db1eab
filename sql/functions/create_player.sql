-- create_player: add a player with a token that has all scopes; names need not be unique.
CREATE OR REPLACE FUNCTION create_player(
    player uuid, its_name text, token bytea, recovery bytea, at timestamptz
) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    INSERT INTO players (player_id, name, recovery_hash, created_at)
    VALUES (player, its_name, recovery, at);

    SELECT add_token(gen_random_uuid(), token, player, 'registration', NULL, at, NULL)
$$;
