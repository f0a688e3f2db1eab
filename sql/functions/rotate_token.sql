-- rotate_token: replace the token in `players`; returns false for an unknown or erased player.
--
-- Only for processes of earlier releases: remove after 2027-05-31.
CREATE OR REPLACE FUNCTION rotate_token(player uuid, token bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    DELETE FROM tokens k
    USING players p
    WHERE p.player_id = player AND k.token_hash = p.token_hash;
    UPDATE players p SET token_hash = token
    WHERE p.player_id = player AND p.erased_at IS NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM add_token(gen_random_uuid(), token, player, 'renewed', NULL, now(), NULL);
    RETURN true;
END
$$;
