-- claim_webhooks: claim the webhooks that are due, the longest first, until a time.
--
-- A claim that is not finished by then counts as lost, as if its process had been killed, and the
-- webhook is due again. The number of the claim has to be named by whatever is stored under it.
-- Until the work begins it stays due since the same time, so a queue that nothing works on is seen.
CREATE OR REPLACE FUNCTION claim_webhooks(at timestamptz, until timestamptz, most integer)
RETURNS TABLE (player_id uuid, claim integer)
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    -- Materialized: as the inner side of a nested loop it would run, and lock, again for each row.
    WITH due AS MATERIALIZED (
        SELECT w.player_id
        FROM webhooks w
        WHERE w.state <> 'off' AND w.due_at <= at AND (w.claimed_until IS NULL OR w.claimed_until <= at)
        ORDER BY w.due_at
        LIMIT most
        FOR UPDATE SKIP LOCKED
    )
    UPDATE webhooks w SET claim = w.claim + 1, claimed_until = until
    FROM due
    WHERE w.player_id = due.player_id
    RETURNING w.player_id, w.claim
$$;
