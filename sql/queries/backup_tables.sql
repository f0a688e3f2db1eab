-- backup_tables: every table of the schema with its columns, without generated ones.
SELECT c.relname::text, array_agg(a.attname::text ORDER BY a.attnum)
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
WHERE c.relnamespace = 'public'::regnamespace
    AND c.relkind IN ('r', 'p')
    AND NOT a.attisdropped
    AND a.attgenerated = ''
GROUP BY c.relname
ORDER BY c.relname
