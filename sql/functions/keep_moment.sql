-- keep_moment: keep a moment of a hand for a player; false above the quota. One with this id stays as it is.
--
-- SH401 if the player was erased. The player is locked, so of two moments at once the second counts the first.
CREATE OR REPLACE FUNCTION keep_moment(moment jsonb, most integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    new  moments := jsonb_populate_record(NULL::moments, moment);
BEGIN
    PERFORM lock_guests(ARRAY[new.player_id]);
    PERFORM hold_players(ARRAY[new.player_id]);

    -- Separate statements, because they must see what was committed while the locks were awaited.
    IF EXISTS (SELECT FROM moments m WHERE m.moment_id = new.moment_id) THEN
        RETURN true;
    END IF;
    IF (SELECT count(*) FROM moments m WHERE m.player_id = new.player_id) >= most THEN
        RETURN false;
    END IF;
    INSERT INTO moments (moment_id, player_id, game_id, version, viewer, list_name, words, kept_at)
    VALUES (
        new.moment_id, new.player_id, new.game_id, new.version, new.viewer, new.list_name, new.words, new.kept_at
    );
    RETURN true;
END
$$;
