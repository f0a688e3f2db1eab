-- end_webhook: delete the webhook of a player and what it was sent; false if there is none.
--
-- `caller` is the token of the request itself, as in set_webhook: SH403 without the scope `account`.
CREATE OR REPLACE FUNCTION end_webhook(caller text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    its_player  uuid := player_of_issuer(caller);
BEGIN
    IF its_player IS NULL THEN
        RAISE EXCEPTION 'the token is unknown, has ended or lacks a scope' USING ERRCODE = 'SH403';
    END IF;
    RETURN delete_webhook(its_player);
END
$$;
