-- probe_write: write and commit as a move does, without a trace in the record.
--
-- Fails if a move would fail: the server is read-only or a replica, the disk is full, a
-- synchronous replica does not confirm, or another session locks a table that moves write to.
CREATE OR REPLACE FUNCTION probe_write() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '2s'
AS $$
BEGIN
    LOCK TABLE streams, events, games, answers, outbox IN ROW EXCLUSIVE MODE;
    INSERT INTO write_probes (filler) VALUES (repeat('.', 5000));
    DELETE FROM write_probes;
END
$$;
