-- keep_cosignature: keep what a witness answered.
-- $1 size, $2 witness, $3 signature line
SELECT keep_cosignature($1::bigint, $2::text, $3::text)
