-- Refused moves: the place in which each arrived among those of its game. Null where a release
-- before this one kept it; of those the encryption covers neither seat nor time nor id.
ALTER TABLE refusals ADD COLUMN arrival integer;
