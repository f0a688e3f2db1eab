-- check_extent: number of streams and of leaves to check.
SELECT (SELECT count(*) FROM streams), (SELECT count(*) FROM log_leaves)
