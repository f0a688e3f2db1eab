-- find_decisions: the newest decisions that have all of some codes, and are within some limits.
--
-- `places` are places in `codes`, each with the lowest and the highest code there; `quick` and `slow` are
-- limits of the time taken, null for none. The statement is put together, because a plan for all values
-- alike would read every decision for a rare position, or sort all for a frequent one.
CREATE OR REPLACE FUNCTION find_decisions(
    wanted integer[], places integer[], lowest integer[], highest integer[],
    quick integer, slow integer, most integer
) RETURNS SETOF decisions
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp
AS $$
DECLARE
    conditions  text := 'true';
    at          integer;
BEGIN
    IF cardinality(wanted) > 0 THEN
        conditions := conditions || format(' AND d.codes @> %L::integer[]', wanted);
    END IF;
    FOR at IN 1 .. cardinality(places) LOOP
        conditions := conditions || format(
            ' AND d.codes[%s] BETWEEN %s AND %s', places[at], lowest[at], highest[at]
        );
        IF highest[at] - lowest[at] < 8 THEN
            conditions := conditions || format(
                ' AND d.codes && %L::integer[]', ARRAY(SELECT generate_series(lowest[at], highest[at]))
            );
        END IF;
    END LOOP;
    IF quick IS NOT NULL THEN
        conditions := conditions || format(' AND d.took BETWEEN %s AND %s', quick, slow);
    END IF;
    RETURN QUERY EXECUTE format(
        'SELECT d.* FROM decisions d WHERE %s ORDER BY d.leaf DESC, d.event DESC LIMIT %s', conditions, most
    );
END
$$;
