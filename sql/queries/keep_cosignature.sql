-- keep_cosignature: store a witness's cosignature.
-- $1 size, $2 witness, $3 signature line
SELECT keep_cosignature($1::bigint, $2::text, $3::text)
