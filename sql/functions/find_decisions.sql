-- find_decisions: the newest decisions that have all of some codes, and one of each of some groups.
--
-- A group is a place in `codes` and the codes there of which one is wanted; at the place 0 it can be anywhere.
-- `quick` and `slow` are limits of the time taken, null for none. The statement is put together, because a plan
-- for all values alike would read every decision for a rare position, or sort all for a frequent one.
CREATE OR REPLACE FUNCTION find_decisions(
    wanted integer[], groups jsonb, quick integer, slow integer, most integer
) RETURNS SETOF decisions
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp
AS $$
DECLARE
    conditions  text := 'true';
    place       integer;
    one_of      integer[];
BEGIN
    IF cardinality(wanted) > 0 THEN
        conditions := conditions || format(' AND d.codes @> %L::integer[]', wanted);
    END IF;
    FOR place, one_of IN
        SELECT (g.value ->> 0)::integer, ARRAY(SELECT c::integer FROM jsonb_array_elements_text(g.value -> 1) c)
        FROM jsonb_array_elements(groups) g
    LOOP
        IF place = 0 OR cardinality(one_of) <= 16 THEN
            conditions := conditions || format(' AND d.codes && %L::integer[]', one_of);
        ELSE
            conditions := conditions || format(' AND d.codes[%s] = ANY (%L::integer[])', place, one_of);
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
