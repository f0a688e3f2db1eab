-- note_webhook_state: store how the work under a claim went, and give the claim back.
--
-- The webhook is due at `next`, or at once if it was woken meanwhile and does not fail. If it is off,
-- nothing more is sent and its deliveries are deleted. False if the claim is not valid any more.
--
--   {state, fault, status, failures, failing_since, delivered_at, next}
CREATE OR REPLACE FUNCTION note_webhook_state(player uuid, its_claim integer, result jsonb)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    r  record;
BEGIN
    SELECT * INTO r FROM jsonb_to_record(result) x (
        state text, fault text, status integer, failures integer, failing_since timestamptz,
        delivered_at timestamptz, next timestamptz
    );
    UPDATE webhooks w
    SET state = r.state, fault = r.fault, status = r.status, failures = r.failures,
        failing_since = r.failing_since, delivered_at = r.delivered_at, claimed_until = NULL,
        due_at = CASE
            WHEN w.due_at < w.claimed_until AND r.failures = 0 THEN w.due_at
            ELSE r.next
        END
    WHERE w.player_id = player AND w.claim = its_claim;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF r.state = 'off' THEN
        DELETE FROM webhook_deliveries d WHERE d.player_id = player;
    END IF;
    RETURN true;
END
$$;
