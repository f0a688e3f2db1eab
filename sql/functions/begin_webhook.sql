-- begin_webhook: begin the work under a claim, once, until a time; false if it is not valid any more.
--
-- The number is raised, so that the job of a claim that was queued twice is worked on once.
CREATE OR REPLACE FUNCTION begin_webhook(
    player uuid, its_claim integer, at timestamptz, until timestamptz
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    UPDATE webhooks w SET claim = w.claim + 1, claimed_until = until, due_at = until
    WHERE w.player_id = player AND w.claim = its_claim AND w.claimed_until > at;
    RETURN FOUND;
END
$$;
