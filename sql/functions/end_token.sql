-- end_token: end one of the tokens of a player, with the webhook that it set; false if there is none.
--
-- `caller` is the token of the request itself, not its hash, which the service's role can read. It
-- needs the scope `account`, and may be the token that ends: SH403 otherwise.
CREATE OR REPLACE FUNCTION end_token(caller text, wanted uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    its_player  uuid := player_of_issuer(caller);
BEGIN
    IF its_player IS NULL THEN
        RAISE EXCEPTION 'the token is unknown, has ended or lacks a scope' USING ERRCODE = 'SH403';
    END IF;

    DELETE FROM tokens k WHERE k.token_id = wanted AND k.player_id = its_player;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM stop_webhook(its_player, wanted);
    RETURN true;
END
$$;
