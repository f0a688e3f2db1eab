-- forget_file: delete the record of a file whose function was dropped.
-- $1 name
DELETE FROM applied_files WHERE name = $1::text
