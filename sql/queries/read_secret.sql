-- read_secret: the encrypted seed of a running game.
-- $1 game
SELECT key_id, ciphertext FROM secrets WHERE game_id = $1::uuid
