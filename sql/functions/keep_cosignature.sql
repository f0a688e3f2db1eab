-- keep_cosignature: store a witness's cosignature of a checkpoint; the first one stays.
--
-- Returns whether it was stored: false too if the tree is unknown or not signed.
CREATE OR REPLACE FUNCTION keep_cosignature(of_size bigint, by_witness text, signed text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    INSERT INTO log_cosignatures (size, witness, line)
    SELECT h.size, by_witness, signed
    FROM log_heads h
    WHERE h.size = of_size AND h.note IS NOT NULL
        AND NOT EXISTS (
            SELECT FROM log_cosignatures c WHERE c.size = of_size AND c.witness = by_witness
        );
    RETURN FOUND;
END
$$;
