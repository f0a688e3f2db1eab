-- keep_block: store that a player blocks another; a repeated call changes nothing.
--
-- Returns since when. SH401 if one of them was erased. SH429 if the player blocks `most` others: two
-- requests at once may exceed the limit by one. The blocked player is locked as in refuse_blocked.
CREATE OR REPLACE FUNCTION keep_block(its_player uuid, other uuid, since timestamptz, most integer)
RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    kept  timestamptz;
BEGIN
    PERFORM lock_guests(ARRAY[other]);
    PERFORM hold_players(ARRAY[its_player, other]);
    kept := (SELECT b.at FROM blocks b WHERE b.player = its_player AND b.blocked = other);
    IF kept IS NOT NULL THEN
        RETURN kept;
    END IF;
    IF (SELECT count(*) FROM blocks b WHERE b.player = its_player) >= most THEN
        RAISE EXCEPTION 'the player has reached a quota' USING ERRCODE = 'SH429', DETAIL = 'blocks';
    END IF;
    INSERT INTO blocks (player, blocked, at) VALUES (its_player, other, since)
    ON CONFLICT ON CONSTRAINT blocks_pkey DO NOTHING;
    RETURN since;
END
$$;
