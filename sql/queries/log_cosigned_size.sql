-- log_cosigned_size: the size of the largest tree with a stored cosignature of a witness, else 0.
-- $1 witness
SELECT coalesce(max(size), 0) FROM log_cosignatures WHERE witness = $1::text
