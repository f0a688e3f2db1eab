-- add_seek: add a player's seek; returns whether it is new.
-- $1 columns as JSON, $2 maximum number of open seeks of the player
SELECT add_seek($1::jsonb, $2::integer)
