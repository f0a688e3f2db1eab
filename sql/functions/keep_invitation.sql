-- keep_invitation: store that the host of a table invites a player; a repeated call changes nothing.
--
-- Nothing is stored at a closed table, nor for a player who sits there: both end invitations once, so
-- the table's row is locked against such an append. SH401 if the player or the host was erased. SH429 if the host
-- has `most` invitations, declined ones too; the host's row is locked first, as in an append, so of two concurrent
-- calls the second counts the first.
CREATE OR REPLACE FUNCTION keep_invitation(
    its_table uuid, invited uuid, invited_at timestamptz, most integer
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    its_host  uuid := (SELECT t.host FROM tables t WHERE t.table_id = its_table);
BEGIN
    PERFORM hold_players(ARRAY[invited, its_host]);
    IF EXISTS (SELECT FROM invitations i WHERE i.table_id = its_table AND i.player = invited) THEN
        RETURN;
    END IF;
    PERFORM refuse_over_quota(jsonb_build_array(jsonb_build_object(
        'player', its_host, 'kind', 'invitations', 'most', most
    )));
    PERFORM FROM tables t WHERE t.table_id = its_table FOR SHARE;

    -- A separate statement, because it must see what was committed while the lock was awaited.
    INSERT INTO invitations (table_id, player, at)
    SELECT its_table, invited, invited_at
    FROM tables t
    WHERE
        t.table_id = its_table AND t.status <> 'closed'
        AND NOT EXISTS (
            SELECT FROM table_seats s WHERE s.table_id = its_table AND s.player_id = invited
        )
    ON CONFLICT ON CONSTRAINT invitations_pkey DO NOTHING;
END
$$;
