-- Since when a table waits to deal its next hand by itself.
ALTER TABLE tables ADD COLUMN ready_since timestamptz;
CREATE INDEX tables_ready ON tables (ready_since) WHERE ready_since IS NOT NULL;
