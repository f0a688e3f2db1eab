-- renew_seek: let an open seek expire later; returns whether it was open.
-- $1 seek, $2 player, $3 time, $4 new time at which it expires
SELECT renew_seek($1::uuid, $2::uuid, $3::timestamptz, $4::timestamptz)
