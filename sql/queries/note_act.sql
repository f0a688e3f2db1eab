-- note_act: add a row to the operator log.
-- $1 time, $2 operator, $3 act, $4 target or null, $5 outcome
SELECT note_act($1::timestamptz, $2::text, $3::text, $4::uuid, $5::text)
