-- sign_log_head: keep the signed checkpoint of a tree that is here; returns whether it is.
--
-- A constraint of the table compares the note with the tree. A later note of the same tree has more
-- signatures, as when the log's key changes.
CREATE OR REPLACE FUNCTION sign_log_head(of_size bigint, signed bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    UPDATE log_heads h SET note = signed WHERE h.size = of_size;
    RETURN FOUND;
END
$$;
