-- note_token_use: store the day, in UTC, on which a token was used last.
CREATE OR REPLACE FUNCTION note_token_use(token bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    UPDATE tokens k SET used_on = (now() AT TIME ZONE 'UTC')::date
    WHERE k.token_hash = token AND k.used_on IS DISTINCT FROM (now() AT TIME ZONE 'UTC')::date
$$;
