-- note_able: record that the service can take moves, and when the last outage ended.
--
-- A gap of more than `outage` since the last call of any process is an outage.
CREATE OR REPLACE FUNCTION note_able(outage interval) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    INSERT INTO availability AS a (seen_at) VALUES (clock_timestamp())
    ON CONFLICT (one) DO UPDATE SET
        able_since = CASE
            WHEN excluded.seen_at - a.seen_at > outage THEN excluded.seen_at ELSE a.able_since
        END,
        seen_at = greatest(a.seen_at, excluded.seen_at)
$$;
