-- record_readings: record a read of private data of several games in their access logs.
-- $1 games, $2 time, $3 reader, $4 resource that was read
SELECT record_reading(game, $2::timestamptz, $3::uuid, $4::text) FROM unnest($1::uuid[]) game
