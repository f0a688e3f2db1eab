-- probe_write: write and commit as a move does, without a trace in the record.
SELECT probe_write()
