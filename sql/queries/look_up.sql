-- look_up: the data that a request needs first: its player, stored answer and game.
-- $1 token hash, $2 request key, $3 game, $4 first seq, $5 players whose names are read,
-- $6 whether the data outside the game's log is read
SELECT
    player_id, name, token_id, scopes, is_first_use, body_hash, sealed, kind, version, head, lines, back, names,
    key_id, ciphertext, table_id, host, public, invite_hash, seats, opened
FROM look_up_request($1::bytea, $2::bytea, $3::uuid, $4::integer, $5::uuid[], $6::boolean)
