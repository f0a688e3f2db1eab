-- record_readings: add a read of private data to the access log of each game.
-- $1 games, $2 time, $3 reader, $4 resource that was read
SELECT record_reading(game, $2::timestamptz, $3::uuid, $4::text) FROM unnest($1::uuid[]) game
