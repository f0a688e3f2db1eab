-- keep_note: write or replace a player's note on an event.
-- $1 game, $2 author, $3 seq, $4 text, $5 visibility, $6 time
SELECT keep_note($1::uuid, $2::uuid, $3::integer, $4::text, $5::text, $6::timestamptz)
