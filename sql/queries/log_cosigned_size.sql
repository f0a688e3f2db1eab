-- log_cosigned_size: the largest tree that a witness has cosigned, as far as it told us; else 0.
-- $1 witness
SELECT coalesce(max(size), 0) FROM log_cosignatures WHERE witness = $1::text
