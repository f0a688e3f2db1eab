-- purge_refusals: delete refused moves of games that were over before a time, at most 10,000.
--
-- Returns the number deleted; the caller repeats the call until it returns 0. No move is refused
-- after the end of its game, so only rows of that age are read.
CREATE OR REPLACE FUNCTION purge_refusals(before timestamptz) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    deleted  bigint;
BEGIN
    PERFORM refuse_future(before);
    DELETE FROM refusals r
    USING (
        SELECT o.game_id, o.refusal_id
        FROM refusals o
        JOIN games g ON g.game_id = o.game_id
        WHERE o.at < before AND g.ended_at < before
        LIMIT 10000
    ) old
    WHERE r.game_id = old.game_id AND r.refusal_id = old.refusal_id;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END
$$;
