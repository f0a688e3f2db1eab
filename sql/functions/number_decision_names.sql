-- number_decision_names: the numbers of names, new ones for those without one.
--
-- `players` has the id behind each name of a player, else null. SH401 if one was erased: the row of an erased
-- player would come back. A lock of one row lets one transaction at a time take numbers.
CREATE OR REPLACE FUNCTION number_decision_names(names text[], players uuid[])
RETURNS TABLE (name text, number integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM FROM decisions_reached FOR UPDATE;
    PERFORM hold_players(array_remove(players, NULL));
    INSERT INTO decision_names (number, name, player_id)
    SELECT
        (SELECT coalesce(max(n.number), 0) FROM decision_names n) + row_number() OVER (ORDER BY w.name),
        w.name,
        w.player_id
    FROM unnest(names, players) w (name, player_id)
    WHERE NOT EXISTS (SELECT FROM decision_names n WHERE n.name = w.name);
    RETURN QUERY SELECT n.name, n.number FROM decision_names n WHERE n.name = ANY (names);
END
$$;
