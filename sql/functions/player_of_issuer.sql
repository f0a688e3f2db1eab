-- player_of_issuer: the player of a valid token with the scope `account`, which is locked; else null.
--
-- Takes the token itself and hashes it here: a connection of the service reads hashes only, so such
-- a connection alone does not suffice to take over an account. The same holds for the functions that call
-- it (issue_token, end_token, renew_recovery, rename_by_token, erase_by_token) and recover_account.
CREATE OR REPLACE FUNCTION player_of_issuer(issuer text) RETURNS uuid
LANGUAGE sql SET search_path = public, pg_temp
AS $$
    SELECT k.player_id
    FROM tokens k
    WHERE k.token_hash = sha256(convert_to(issuer, 'UTF8'))
        AND (k.ends_at IS NULL OR k.ends_at > now())
        AND 'account' = ANY (k.scopes)
    FOR UPDATE
$$;
