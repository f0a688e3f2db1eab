-- note_webhook_sent: store that the receiver accepted a delivery; false without a valid claim.
CREATE OR REPLACE FUNCTION note_webhook_sent(
    player uuid, its_claim integer, its_type text, its_id uuid, its_mark integer, at timestamptz
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    UPDATE webhook_deliveries d SET sent_at = at
    FROM webhooks w
    WHERE w.player_id = player AND w.claim = its_claim
        AND d.player_id = player AND d.type = its_type AND d.id = its_id AND d.mark = its_mark;
    RETURN FOUND;
END
$$;
