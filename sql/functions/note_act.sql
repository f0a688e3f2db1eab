-- note_act: add a row to the operator log; only the owner of the database may call it.
CREATE OR REPLACE FUNCTION note_act(
    noted_at timestamptz, by_operator text, its_act text, its_target uuid, its_outcome text
) RETURNS void
LANGUAGE sql SET search_path = public, pg_temp
AS $$
    INSERT INTO trail (at, operator, act, target, outcome)
    VALUES (noted_at, by_operator, its_act, its_target, its_outcome)
$$;
