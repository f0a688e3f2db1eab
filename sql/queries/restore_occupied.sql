-- restore_occupied: what stands in a database that should be empty; a few names are enough.
SELECT c.relname::text
FROM pg_class c
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
ORDER BY c.relname
LIMIT 5
