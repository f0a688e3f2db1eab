-- keep_decisions: store the decisions of a hand, and that the leaves up to `reached` are counted.
--
-- Returns false, and changes nothing, if another process has counted leaves since `before`.
CREATE OR REPLACE FUNCTION keep_decisions(before bigint, reached bigint, its_decisions jsonb) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    UPDATE decisions_reached r SET leaves = reached WHERE r.leaves = before;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO decisions (leaf, event, took, seat, codes)
    SELECT f.leaf, f.event, f.took, f.seat, f.codes
    FROM jsonb_populate_recordset(NULL::decisions, its_decisions) f
    ON CONFLICT ON CONSTRAINT decisions_pkey DO NOTHING;
    RETURN true;
END
$$;
