-- record_attempt: store a refused move of a running game.
-- $1 game, $2 id, $3 time, $4 seat, $5 key id, $6 ciphertext
SELECT record_attempt($1::uuid, $2::uuid, $3::timestamptz, $4::integer, $5::text, $6::bytea)
