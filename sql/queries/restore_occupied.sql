-- restore_occupied: names of a few objects in a database that should be empty.
SELECT c.relname::text
FROM pg_class c
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
ORDER BY c.relname
LIMIT 5
