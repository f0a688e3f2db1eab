-- record_reading: note who read something not public.
-- $1 game, $2 time, $3 reader, $4 what
SELECT record_reading($1::uuid, $2::timestamptz, $3::uuid, $4::text)
