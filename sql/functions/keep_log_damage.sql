-- keep_log_damage: replace the known damage of a part of the public log by what was found now.
--
-- At most 1,000 rows are stored in all: they say where to look, and `shithead check` finds the rest.
CREATE OR REPLACE FUNCTION keep_log_damage(of_part text, places jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    DELETE FROM log_damage d WHERE d.part = of_part;
    INSERT INTO log_damage (part, place, reason)
    SELECT of_part, left(f.place, 200), left(f.reason, 500)
    FROM jsonb_to_recordset(places) f(place text, reason text)
    LIMIT greatest(0, 1000 - (SELECT count(*) FROM log_damage))
    ON CONFLICT ON CONSTRAINT log_damage_pkey DO NOTHING;
END
$$;
