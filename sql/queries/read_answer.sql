-- read_answer: the answer kept for a request key.
-- $1 caller, $2 request key
SELECT body_hash, sealed FROM answers WHERE caller = $1::uuid AND request_key = $2::bytea
