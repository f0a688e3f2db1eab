-- applied_files: the functions and privileges applied last.
SELECT name, checksum FROM applied_files
