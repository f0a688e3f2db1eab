-- choose_handle: set the handle of the player with a token; false if another one has it, or had it not long ago.
--
-- Null if the token is not valid. Takes the token itself, for the reason in player_of_issuer. SH401 if the
-- player was erased. SH429 if the player has chosen a handle after `last`; choosing the present one again
-- changes nothing. The handle before it is reserved for the player for a time. The player is locked as in
-- keep_block, and of two players who choose look-alikes at once the second waits at the key.
CREATE OR REPLACE FUNCTION choose_handle(
    token text, its_handle text, its_hash bytea, at timestamptz, last timestamptz
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    its_player  uuid := player_of_issuer(token);
BEGIN
    IF its_player IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM lock_guests(ARRAY[its_player]);
    PERFORM hold_players(ARRAY[its_player]);

    -- Separate statements, because they must see what was committed while the locks were awaited.
    IF EXISTS (SELECT FROM handles h WHERE h.player_id = its_player AND h.handle = its_handle) THEN
        RETURN true;
    END IF;
    IF EXISTS (SELECT FROM handles h WHERE h.player_id = its_player AND h.chosen_at > last) THEN
        RAISE EXCEPTION 'the player has reached a quota' USING ERRCODE = 'SH429', DETAIL = 'handles';
    END IF;
    IF EXISTS (
        SELECT FROM handles h
        WHERE h.handle = its_handle AND h.player_id IS DISTINCT FROM its_player
    ) THEN
        RETURN false;
    END IF;
    INSERT INTO handles (hash, player_id, handle, chosen_at)
    VALUES (its_hash, its_player, its_handle, at)
    ON CONFLICT ON CONSTRAINT handles_pkey DO UPDATE
        SET player_id = its_player, handle = its_handle, chosen_at = at, free_at = NULL
        WHERE handles.player_id = its_player OR handles.free_at <= at;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE handles h SET handle = NULL, free_at = handle_free_at(at)
    WHERE h.player_id = its_player AND h.hash <> its_hash AND h.handle IS NOT NULL;
    RETURN true;
END
$$;
