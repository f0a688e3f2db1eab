-- able_since: the end of the last outage, null before the first one; now, while it lasts.
-- $1 shortest gap that is an outage
SELECT CASE
    WHEN clock_timestamp() - seen_at > $1::interval THEN clock_timestamp() ELSE able_since
END
FROM availability
