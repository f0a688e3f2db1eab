-- add_seek: add a player's seek; a repetition with the same id changes nothing.
--
-- SH401 if the player was erased, SH429 if the player has `most` open seeks. The player's row is
-- locked by both checks, so that of two at once the second counts the first.
CREATE OR REPLACE FUNCTION add_seek(seek jsonb, most integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    player  uuid := (seek ->> 'player_id')::uuid;
BEGIN
    IF EXISTS (SELECT FROM seeks s WHERE s.seek_id = (seek ->> 'seek_id')::uuid) THEN
        RETURN false;
    END IF;
    PERFORM hold_players(ARRAY[player]);
    PERFORM refuse_over_quota(jsonb_build_array(jsonb_build_object(
        'player', player, 'kind', 'seeks', 'most', most, 'since', seek -> 'created_at'
    )));
    INSERT INTO seeks SELECT r.* FROM jsonb_populate_record(NULL::seeks, seek) r
    ON CONFLICT ON CONSTRAINT seeks_pkey DO NOTHING;
    RETURN FOUND;
END
$$;
