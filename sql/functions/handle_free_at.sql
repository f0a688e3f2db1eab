-- handle_free_at: until when a handle that was given up or erased at a time is reserved.
CREATE OR REPLACE FUNCTION handle_free_at(at timestamptz) RETURNS timestamptz
LANGUAGE sql SET search_path = public, pg_temp
AS $$
    SELECT at + interval '90 days'
$$;
