-- log_head: the present tree, signed or not.
SELECT size, root, note FROM log_heads ORDER BY size DESC LIMIT 1
