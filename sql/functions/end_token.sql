-- end_token: end one of the tokens of a player, with the webhook that it set; false if there is none.
--
-- `caller` is the token of the request itself, not its hash, which the service's role can read. It
-- needs the scope `account`, and may be the token that ends: SH403 otherwise.
CREATE OR REPLACE FUNCTION end_token(caller text, wanted uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    its_player  uuid := player_of_issuer(caller);
    ended       bytea;
BEGIN
    IF its_player IS NULL THEN
        RAISE EXCEPTION 'the token is unknown, has ended or lacks a scope' USING ERRCODE = 'SH403';
    END IF;

    DELETE FROM tokens k WHERE k.token_id = wanted AND k.player_id = its_player
    RETURNING k.token_hash INTO ended;
    IF ended IS NULL THEN
        RETURN false;
    END IF;
    PERFORM stop_webhook(its_player, wanted);
    UPDATE players p
    SET token_hash = sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
    WHERE p.player_id = its_player AND p.token_hash = ended;
    RETURN true;
END
$$;
