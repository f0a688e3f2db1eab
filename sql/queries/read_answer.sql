-- read_answer: the stored answer of an idempotency key.
-- $1 caller, $2 request key
SELECT body_hash, sealed FROM answers WHERE caller = $1::uuid AND request_key = $2::bytea
