-- change_moments: set the words or the list of moments of a player, null for neither; returns how many there are.
--
-- Of one moment, or of all that are in a list.
CREATE OR REPLACE FUNCTION change_moments(
    player uuid, moment uuid, in_list text, its_words text, its_list text
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    changed  bigint;
BEGIN
    UPDATE moments m
    SET words = coalesce(its_words, m.words), list_name = coalesce(its_list, m.list_name)
    WHERE m.player_id = player AND (m.moment_id = moment OR m.list_name = in_list);
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;
