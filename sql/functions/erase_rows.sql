-- erase_rows: delete what a player left behind, and the name; returns false for one erased before.
--
-- Everything that the player wrote or keeps goes, and the invitations of the player and to the tables that the
-- player hosts: no player could withdraw these. The streams keep commitments to texts in disputes, which reveal
-- nothing without the salt.
--
-- Called by erase_player, and by the restore of a backup from before an erasure, also during a hand.
CREATE OR REPLACE FUNCTION erase_rows(player uuid, at timestamptz) RETURNS boolean
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    DELETE FROM answers a WHERE a.caller = player;
    DELETE FROM notes n WHERE n.author = player;
    DELETE FROM moments m WHERE m.player_id = player;
    DELETE FROM invitations i WHERE i.player = erase_rows.player;
    DELETE FROM invitations i USING tables t
    WHERE t.table_id = i.table_id AND t.host = erase_rows.player;
    DELETE FROM blocks b WHERE erase_rows.player IN (b.player, b.blocked);
    DELETE FROM seeks s WHERE s.player_id = player;
    PERFORM erase_handles(player, at);
    DELETE FROM challenges c WHERE erase_rows.player IN (c.challenger, c.player);
    DELETE FROM tokens k WHERE k.player_id = player;
    DELETE FROM ratings r WHERE r.player_id = player;
    DELETE FROM decision_names n WHERE n.player_id = player;
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
