-- add_seek: add a player's seek; a repetition with the same id changes nothing.
--
-- SH401 if the player was erased, SH429 if the player has reached one of the quotas. The player's
-- row is locked by both checks, so that of two at once the second counts the first.
CREATE OR REPLACE FUNCTION add_seek(seek jsonb, quotas jsonb) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    player  uuid := (seek ->> 'player_id')::uuid;
BEGIN
    IF EXISTS (SELECT FROM seeks s WHERE s.seek_id = (seek ->> 'seek_id')::uuid) THEN
        RETURN false;
    END IF;
    PERFORM hold_players(ARRAY[player]);
    PERFORM refuse_over_quota(quotas);
    INSERT INTO seeks SELECT r.* FROM jsonb_populate_record(NULL::seeks, seek) r
    ON CONFLICT ON CONSTRAINT seeks_pkey DO NOTHING;
    RETURN FOUND;
END
$$;
