-- withdraw_seek: end an open seek without a table; returns whether it was open.
-- $1 seek, $2 player, $3 time
SELECT withdraw_seek($1::uuid, $2::uuid, $3::timestamptz)
