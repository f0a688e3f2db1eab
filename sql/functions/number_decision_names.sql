-- number_decision_names: the numbers of names, new ones for those without one.
--
-- `players` has the id behind each name of a player, else null. SH401 if one was erased: the row of an erased
-- player would come back.
CREATE OR REPLACE FUNCTION number_decision_names(names text[], players uuid[])
RETURNS TABLE (name text, number integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM hold_players(players);
    INSERT INTO decision_names (name, player_id)
    SELECT w.name, w.player_id
    FROM unnest(names, players) w (name, player_id)
    WHERE NOT EXISTS (SELECT FROM decision_names n WHERE n.name = w.name)
    ORDER BY w.name
    ON CONFLICT ON CONSTRAINT decision_names_once DO NOTHING;
    RETURN QUERY SELECT n.name, n.number FROM decision_names n WHERE n.name = ANY (names);
END
$$;
