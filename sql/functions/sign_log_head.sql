-- sign_log_head: store the signed checkpoint of a known tree; returns whether the tree is known.
--
-- A table constraint compares the note with the tree. A later note of the same tree has more
-- signatures, for example after a key rotation.
CREATE OR REPLACE FUNCTION sign_log_head(of_size bigint, signed bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    UPDATE log_heads h SET note = signed WHERE h.size = of_size;
    RETURN FOUND;
END
$$;
