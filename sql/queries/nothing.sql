-- nothing: asks whether the database answers at all.
SELECT 1
