-- put_off: set the next action of a game.
-- $1 game, $2 version seen, $3 and $4 kind and time of the next action
SELECT put_off($1::uuid, $2::integer, $3::text, $4::timestamptz)
