-- erase_player: forget who a person was; the number stays, so that their games still add up.
--
-- SH423 during a hand: an erased player in it could not go on. The row is locked first, and a
-- hand holds its players (hold_players) until its commit: the erasure or the deal comes first,
-- and the other one is refused.
--
-- Their kept answers go too: only they could have asked for them again. So do their words in
-- disputes: the streams keep commitments, which say nothing once the salt is gone.
CREATE OR REPLACE FUNCTION erase_player(player uuid, at timestamptz) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM FROM players p WHERE p.player_id = player FOR UPDATE;

    -- In a statement of its own: one that had to wait sees what was committed only then.
    IF EXISTS (
        SELECT FROM game_seats s
        JOIN games g ON g.game_id = s.game_id
        WHERE s.player_id = player AND g.status NOT IN ('ended', 'aborted')
    ) THEN
        RAISE EXCEPTION 'a hand is being played' USING ERRCODE = 'SH423';
    END IF;

    DELETE FROM answers a WHERE a.caller = player;
    UPDATE dispute_texts t SET words = NULL, salt = NULL WHERE t.author = player;
    UPDATE players p
    SET name = NULL, token_hash = NULL, recovery_hash = NULL, erased_at = at
    WHERE p.player_id = player AND p.erased_at IS NULL;
    RETURN FOUND;
END
$$;
