-- wake_webhooks: let the webhooks of some players be due; returns how many were not due before.
--
-- One that fails keeps the time of its next attempt.
CREATE OR REPLACE FUNCTION wake_webhooks(players uuid[], at timestamptz) RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH chosen AS MATERIALIZED (  -- locked in one order: two relays may wake the same ones
        SELECT w.player_id
        FROM webhooks w
        WHERE w.player_id = ANY (players) AND w.state = 'on' AND w.failures = 0 AND w.due_at > at
        ORDER BY w.player_id
        FOR NO KEY UPDATE
    ), woken AS (
        UPDATE webhooks w SET due_at = at
        FROM chosen
        WHERE w.player_id = chosen.player_id AND w.due_at > at
        RETURNING 1
    )
    SELECT count(*)::integer FROM woken
$$;
