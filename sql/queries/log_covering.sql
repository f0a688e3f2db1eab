-- log_covering: of the first 50 signed heads that cover a leaf, the one with most cosignatures.
--
-- An early head is chosen, so that repeated requests get the same evidence. It is not always the
-- first, because witnesses may not have answered when that was new.
-- $1 index of the leaf
SELECT h.size, h.root, h.note, h.lines
FROM (
    SELECT
        n.size,
        n.root,
        n.note,
        ARRAY(SELECT c.line FROM log_cosignatures c WHERE c.size = n.size ORDER BY c.witness) AS lines
    FROM log_heads n
    WHERE n.size > $1::bigint AND n.note IS NOT NULL
    ORDER BY n.size
    LIMIT 50
) h
ORDER BY cardinality(h.lines) DESC, h.size
LIMIT 1
