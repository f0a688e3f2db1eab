-- check_extent: how much there is to check.
SELECT (SELECT count(*) FROM streams), (SELECT count(*) FROM log_leaves)
