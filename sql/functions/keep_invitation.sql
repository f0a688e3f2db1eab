-- keep_invitation: store that the host of a table invites a player; a repeated call changes nothing.
--
-- SH401 if the player was erased. SH429 if the host has `most` open invitations; the host's row is
-- locked first, so of two concurrent calls the second counts the first.
CREATE OR REPLACE FUNCTION keep_invitation(
    its_table uuid, invited uuid, invited_at timestamptz, most integer
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    its_host  uuid := (SELECT t.host FROM tables t WHERE t.table_id = its_table);
BEGIN
    PERFORM hold_players(ARRAY[invited]);
    IF EXISTS (SELECT FROM invitations i WHERE i.table_id = its_table AND i.player = invited) THEN
        RETURN;
    END IF;
    PERFORM refuse_over_quota(jsonb_build_array(jsonb_build_object(
        'player', its_host, 'kind', 'invitations', 'most', most
    )));
    INSERT INTO invitations (table_id, player, at) VALUES (its_table, invited, invited_at)
    ON CONFLICT ON CONSTRAINT invitations_pkey DO NOTHING;
END
$$;
