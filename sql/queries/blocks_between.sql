-- blocks_between: the blocks between some players, as their places in the list, from 0.
-- $1 players
WITH chosen AS MATERIALIZED (
    SELECT c.player, (c.place - 1)::integer AS place
    FROM unnest($1::uuid[]) WITH ORDINALITY c (player, place)
)
SELECT one.place, array_agg(other.place)
FROM chosen one
JOIN blocks b ON b.player = one.player
JOIN chosen other ON other.player = b.blocked
GROUP BY one.place
