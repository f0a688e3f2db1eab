-- log_head: the tree as it is, signed or not.
SELECT size, root, note FROM log_heads ORDER BY size DESC LIMIT 1
