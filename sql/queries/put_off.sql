-- put_off: set the next action of a game.
-- $1 game, $2 version it was seen at, $3 what is to be done next, $4 when
SELECT put_off($1::uuid, $2::integer, $3::text, $4::timestamptz)
