-- hold_players: lock players against erasure until this commit, because they open a table, take a
-- seat, are dealt cards, or become referees. SH401 if one was erased already.
CREATE OR REPLACE FUNCTION hold_players(wanted uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM FROM players p
    WHERE p.player_id = ANY (wanted)
    ORDER BY p.player_id
    FOR KEY SHARE;

    -- A separate statement, because it must see what was committed while the locks were awaited.
    IF EXISTS (SELECT FROM players p WHERE p.player_id = ANY (wanted) AND p.erased_at IS NOT NULL) THEN
        RAISE EXCEPTION 'a player has been erased' USING ERRCODE = 'SH401';
    END IF;
END
$$;
