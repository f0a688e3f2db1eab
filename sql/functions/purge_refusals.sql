-- purge_refusals: forget refused moves of games that were over before a time, 10,000 at most.
--
-- Returns how many; whoever calls goes on until there are none. Nothing was refused after the end
-- of its game, so the age of a row tells where to look.
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
