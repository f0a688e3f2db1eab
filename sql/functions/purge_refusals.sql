-- purge_refusals: delete refused moves of games that were over before a time, at most 10,000.
--
-- Returns the number deleted; the caller repeats the call until it returns 0. No move is refused
-- after the end of its game, so only rows of that age are read.
CREATE OR REPLACE FUNCTION purge_refusals(before timestamptz) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH gone AS (
        DELETE FROM refusals r
        WHERE r.ctid = ANY (ARRAY(
            SELECT old.ctid
            FROM refusals old
            JOIN games g ON g.game_id = old.game_id
            WHERE old.at < before AND g.ended_at < before
            LIMIT 10000
        ))
        RETURNING 1
    )
    SELECT count(*) FROM gone
$$;
