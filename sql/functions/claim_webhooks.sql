-- claim_webhooks: claim webhooks that are due until a time, the longest due of each origin first.
--
-- A claim that is not finished by then counts as lost, as if its process had been killed, and the
-- webhook is due again. The number of the claim has to be named by whatever is stored under it.
-- Until the work begins it stays due since the same time, so a queue that nothing works on is seen.
--
-- Of one origin at most `share` are claimed at a time, and at most `unproven` that are not on without a
-- failure; of these at most `unproven_of_all` together: receivers that may hang leave threads to the
-- others. The nth of each origin come before the next of any, so `most` is divided among origins. Two
-- calls at the same moment can exceed a share by what the other one claims.
CREATE OR REPLACE FUNCTION claim_webhooks(
    at timestamptz, until timestamptz, most integer, share integer, unproven integer,
    unproven_of_all integer
) RETURNS TABLE (player_id uuid, claim integer)
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH known AS (
        SELECT
            w.player_id, w.origin, w.due_at, w.state = 'on' AND w.failures = 0 AS proven,
            coalesce(w.claimed_until > at, false) AS claimed
        FROM webhooks w
        WHERE w.state <> 'off' AND w.due_at <= greatest(at, until)  -- as a claimed one is, too
            AND (w.due_at <= at OR w.claimed_until > at)
    ), placed AS (
        -- The claimed ones have the first places, so that the others follow them.
        SELECT
            k.player_id, k.claimed, k.proven, k.due_at,
            row_number() OVER (PARTITION BY k.origin ORDER BY k.claimed DESC, k.proven DESC, k.due_at)
                AS place,
            row_number() OVER (PARTITION BY k.origin, k.proven ORDER BY k.claimed DESC, k.due_at)
                AS place_of_kind
        FROM known k
    ), shared AS (
        SELECT
            p.player_id, p.claimed, p.proven, p.due_at, p.place_of_kind,
            row_number() OVER (PARTITION BY p.proven ORDER BY p.claimed DESC, p.place_of_kind, p.due_at)
                AS place_of_all
        FROM placed p
        WHERE p.claimed OR (p.place <= share AND (p.proven OR p.place_of_kind <= unproven))
    ), due AS MATERIALIZED (  -- as the inner side of a nested loop it would run, and lock, for each row
        SELECT w.player_id
        FROM webhooks w
        JOIN shared s ON s.player_id = w.player_id
        WHERE NOT s.claimed AND (s.proven OR s.place_of_all <= unproven_of_all)
            AND (w.claimed_until IS NULL OR w.claimed_until <= at)
        ORDER BY s.proven, s.place_of_kind, s.due_at
        LIMIT most
        FOR UPDATE OF w SKIP LOCKED
    )
    UPDATE webhooks w SET claim = w.claim + 1, claimed_until = until
    FROM due
    WHERE w.player_id = due.player_id
    RETURNING w.player_id, w.claim
$$;
