-- applied_files: the files of functions and privileges, with the checksums last applied.
SELECT name, checksum FROM applied_files
