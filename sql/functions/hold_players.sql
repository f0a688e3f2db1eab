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

    -- In a statement of its own: one that had to wait sees what came of it only then.
    IF EXISTS (SELECT FROM players p WHERE p.player_id = ANY (wanted) AND p.erased_at IS NOT NULL) THEN
        RAISE EXCEPTION 'who was erased does nothing any more' USING ERRCODE = 'SH401';
    END IF;
END
$$;
