-- summarise_table: set the columns of a table's summary row that `summary` names, and its version.
--
-- The first append with a summary inserts the row; `seats` replaces all seats. New players of the
-- seats, and the host, are locked (hold_players) against a concurrent purge_players. `invited` are the
-- players whom the host of a new table invites; an invitation ends with a seat, and with the table. `challenge` is
-- {player, expires_at} of a table that is opened for a player: the seat accepts, the end of the table ends it as
-- `challenge_end` says, or withdraws; so does another holder of its seat.
CREATE OR REPLACE FUNCTION summarise_table(its_table uuid, reached integer, summary jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    fields  jsonb := coalesce(summary, '{}')
        || jsonb_build_object('table_id', its_table, 'version', reached);
BEGIN
    UPDATE tables t SET (
        host, version, status, public, ruleset_id, invite_hash, created_at, hand, game_id,
        ready_since
    ) = (
        SELECT
            r.host, r.version, r.status, r.public, r.ruleset_id, r.invite_hash, r.created_at,
            r.hand, r.game_id, r.ready_since
        FROM jsonb_populate_record(t, fields) r
    )
    WHERE t.table_id = its_table;

    IF NOT FOUND AND summary IS NOT NULL THEN
        PERFORM hold_players(
            ARRAY[(fields ->> 'host')::uuid]
            || ARRAY(SELECT i.value::uuid FROM jsonb_array_elements_text(fields -> 'invited') i)
        );
        INSERT INTO tables (
            table_id, host, version, status, public, ruleset_id, invite_hash, created_at, hand, game_id,
            ready_since
        )
        SELECT
            r.table_id, r.host, r.version, r.status, r.public, r.ruleset_id, r.invite_hash, r.created_at,
            r.hand, r.game_id, r.ready_since
        FROM jsonb_populate_record(NULL::tables, '{"hand": 0}' || fields) r;
    END IF;

    INSERT INTO invitations (table_id, player, at)
    SELECT its_table, i.value::uuid, (fields ->> 'created_at')::timestamptz
    FROM jsonb_array_elements_text(fields -> 'invited') i
    ON CONFLICT ON CONSTRAINT invitations_pkey DO NOTHING;

    IF fields ->> 'challenge' IS NOT NULL THEN
        INSERT INTO challenges (table_id, challenger, player, state, created_at, expires_at)
        VALUES (
            its_table, (fields ->> 'host')::uuid, (fields -> 'challenge' ->> 'player')::uuid, 'open',
            (fields ->> 'created_at')::timestamptz, (fields -> 'challenge' ->> 'expires_at')::timestamptz
        );
    END IF;

    IF fields ->> 'status' = 'closed' THEN
        DELETE FROM invitations i WHERE i.table_id = its_table;
        UPDATE challenges c
        SET state = coalesce(fields ->> 'challenge_end', 'withdrawn')
        WHERE c.table_id = its_table AND c.state = 'open';
    END IF;

    IF fields -> 'seats' IS NOT NULL THEN
        DELETE FROM invitations i
        USING jsonb_populate_recordset(NULL::table_seats, fields -> 'seats') r
        WHERE i.table_id = its_table AND i.player = r.player_id;
        UPDATE challenges c SET state = 'accepted'
        FROM jsonb_populate_recordset(NULL::table_seats, fields -> 'seats') r
        WHERE c.table_id = its_table AND c.player = r.player_id AND c.state = 'open';
        UPDATE challenges c SET state = 'withdrawn'
        WHERE c.table_id = its_table AND c.state = 'open' AND NOT EXISTS (
            SELECT FROM jsonb_populate_recordset(NULL::table_seats, fields -> 'seats') r
            WHERE r.kind = 'open'
        );
        PERFORM hold_players(ARRAY(
            SELECT r.player_id FROM jsonb_populate_recordset(NULL::table_seats, fields -> 'seats') r
            EXCEPT
            SELECT s.player_id FROM table_seats s WHERE s.table_id = its_table
        ));
        DELETE FROM table_seats s WHERE s.table_id = its_table;
        INSERT INTO table_seats (table_id, seat, kind, bot, player_id)
        SELECT its_table, r.seat, r.kind, r.bot, r.player_id
        FROM jsonb_populate_recordset(NULL::table_seats, fields -> 'seats') r;
    END IF;
END
$$;
