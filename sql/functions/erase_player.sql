-- erase_player: remove the personal data of a player; the id stays, because games refer to it.
--
-- Returns false for an unknown player or one erased before. SH423 during a hand, which needs the
-- player. The row is locked first, and a deal locks its players (hold_players) until its commit: if
-- both happen at the same time, the second one is refused.
--
-- The player's stored answers, notes, blocks, seeks, challenges, ratings, webhook and texts in disputes are deleted too,
-- and the invitations of the player and to the tables that the player hosts: nobody could withdraw
-- these. The streams keep commitments to these texts, which reveal nothing without the salt.
--
-- Only an erasure of a player with public hands lets the ratings be computed again.
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

    DELETE FROM answers a WHERE a.caller = player;
    DELETE FROM notes n WHERE n.author = player;
    DELETE FROM invitations i WHERE i.player = erase_player.player;
    DELETE FROM invitations i USING tables t
    WHERE t.table_id = i.table_id AND t.host = erase_player.player;
    DELETE FROM blocks b WHERE erase_player.player IN (b.player, b.blocked);
    DELETE FROM seeks s WHERE s.player_id = player;
    PERFORM erase_handles(player, at);
    DELETE FROM challenges c WHERE erase_player.player IN (c.challenger, c.player);
    DELETE FROM tokens k WHERE k.player_id = player;
    DELETE FROM ratings r WHERE r.player_id = player;
    PERFORM delete_webhook(player);
    UPDATE dispute_texts t SET words = NULL, salt = NULL WHERE t.author = player;
    UPDATE dispute_votes v SET reason_key_id = NULL, reason = NULL
    FROM dispute_referees r
    WHERE r.dispute_id = v.dispute_id AND r.referee = v.referee AND r.player_id = player;
    UPDATE players p
    SET name = NULL, recovery_hash = NULL, erased_at = at
    WHERE p.player_id = player AND p.erased_at IS NULL;
    RETURN FOUND;
END
$$;
