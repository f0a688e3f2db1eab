-- record_refusal: keep a refused move.
-- $1 game, $2 time, $3 seat, $4 key id, $5 ciphertext
SELECT record_refusal($1::uuid, $2::timestamptz, $3::integer, $4::text, $5::bytea)
