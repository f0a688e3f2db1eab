-- Readiness: a table to which a probe of readiness writes, as a move writes to the record.
--
-- It is always empty: each probe deletes its row again. A row takes more than half a page and is
-- stored uncompressed, so each probe extends the file of the table, which a full disk refuses.
-- Vacuum gives the pages back after some minutes of probes.
CREATE TABLE write_probes (
    filler  text  NOT NULL
) WITH (toast_tuple_target = 8160, autovacuum_vacuum_threshold = 100, autovacuum_vacuum_scale_factor = 0);
