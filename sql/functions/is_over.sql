-- is_over: return whether the row of a table or dispute says that it has ended; false for other kinds.
CREATE OR REPLACE FUNCTION is_over(stream uuid, kind text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_temp
AS $$
    SELECT CASE kind
        WHEN 'table' THEN EXISTS (
            SELECT FROM tables t WHERE t.table_id = stream AND t.status = 'closed'
        )
        WHEN 'dispute' THEN EXISTS (
            SELECT FROM disputes d WHERE d.dispute_id = stream AND d.state = 'final'
        )
        ELSE false
    END
$$;
