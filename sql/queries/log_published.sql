-- log_published: the newest signed head, with its cosignatures.
SELECT
    h.size,
    h.root,
    h.note,
    ARRAY(SELECT c.line FROM log_cosignatures c WHERE c.size = h.size ORDER BY c.witness) AS lines
FROM log_heads h
WHERE h.note IS NOT NULL
ORDER BY h.size DESC
LIMIT 1
