-- put_off_dispute: set the time of the next check of a dispute in which nothing was due.
--
-- A row can name too early a time if it was written before the game was sealed, or by an earlier
-- release. No effect if the dispute has a later version than `seen`. Returns whether it took effect.
CREATE OR REPLACE FUNCTION put_off_dispute(
    its_dispute uuid, seen integer, next_at timestamptz
) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH done AS (
        UPDATE disputes d SET wake_at = next_at
        WHERE d.dispute_id = its_dispute AND d.version = seen
        RETURNING 1
    )
    SELECT EXISTS (SELECT FROM done)
$$;
