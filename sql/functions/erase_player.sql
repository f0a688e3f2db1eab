-- erase_player: remove the personal data of a player; the id stays, because games refer to it.
--
-- Returns false for an unknown player or one erased before. SH423 during a hand, which needs the
-- player. The row is locked first, and a deal locks its players (hold_players) until its commit: if
-- both happen at the same time, the second one is refused.
--
-- erase_rows states what is deleted. Only an erasure of a player with public hands lets the ratings be computed again.
--
-- Called by erase_by_token and purge_players, and by the operator.
CREATE OR REPLACE FUNCTION erase_player(player uuid, at timestamptz) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM FROM players p WHERE p.player_id = player FOR UPDATE;

    -- A separate statement, because it must see what was committed while the lock was awaited.
    IF EXISTS (
        SELECT FROM player_results r WHERE r.player_id = player AND r.running > 0
    ) THEN
        RAISE EXCEPTION 'a hand is being played' USING ERRCODE = 'SH423';
    END IF;

    -- First, so that ratings that are stored at the same moment come before or after all of this.
    UPDATE ratings_reached SET erased_now = erased_now + 1
    WHERE EXISTS (
        SELECT FROM players p
        JOIN player_results r ON r.player_id = p.player_id
        WHERE p.player_id = player AND p.erased_at IS NULL AND r.public_games > 0
    );

    RETURN erase_rows(player, at);
END
$$;
