-- summarise_dispute: set the columns of a dispute's summary row that `summary` names, and its version.
--
-- The first append inserts the row. `referees` replaces all referees; `texts`, `bundle`, `findings`
-- and `votes` are inserted in the transaction of the events that refer to them. The append of the
-- ruling deletes the votes, because its events reveal them; so does that of an end without a ruling.
CREATE OR REPLACE FUNCTION summarise_dispute(its_dispute uuid, reached integer, summary jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    fields jsonb := coalesce(summary, '{}')
        || jsonb_build_object('dispute_id', its_dispute, 'version', reached);
BEGIN
    UPDATE disputes d SET (
        game_id, version, state, accuser, accused, partner, charge, verdict, opened_at, found_at,
        wake_at, move, proven, withdrawn
    ) = (
        SELECT
            r.game_id, r.version, r.state, r.accuser, r.accused, r.partner, r.charge,
            r.verdict, r.opened_at, r.found_at, r.wake_at, r.move, r.proven, r.withdrawn
        FROM jsonb_populate_record(d, fields) r
    )
    WHERE d.dispute_id = its_dispute;

    IF NOT FOUND AND summary IS NOT NULL THEN
        INSERT INTO disputes (
            dispute_id, game_id, version, state, accuser, accused, partner, charge, verdict, opened_at,
            found_at, wake_at, move, proven, withdrawn
        )
        SELECT
            r.dispute_id, r.game_id, r.version, r.state, r.accuser, r.accused, r.partner, r.charge,
            r.verdict, r.opened_at, r.found_at, r.wake_at, r.move, r.proven, r.withdrawn
        FROM jsonb_populate_record(NULL::disputes, '{"found_at": 0}' || fields) r;
    END IF;

    IF fields -> 'referees' IS NOT NULL THEN
        PERFORM hold_players(ARRAY(
            SELECT r.player_id
            FROM jsonb_populate_recordset(NULL::dispute_referees, fields -> 'referees') r
            EXCEPT
            SELECT r.player_id FROM dispute_referees r WHERE r.dispute_id = its_dispute
        ));
        DELETE FROM dispute_referees r WHERE r.dispute_id = its_dispute;
        INSERT INTO dispute_referees (dispute_id, referee, player_id, recused, ruled)
        SELECT its_dispute, r.referee, r.player_id, r.recused, coalesce(r.ruled, false)
        FROM jsonb_populate_recordset(NULL::dispute_referees, fields -> 'referees') r;
    END IF;

    IF fields -> 'texts' IS NOT NULL THEN
        INSERT INTO dispute_texts (dispute_id, seq, author, salt, words)
        SELECT its_dispute, t.seq, t.author, t.salt, t.words
        FROM jsonb_populate_recordset(NULL::dispute_texts, fields -> 'texts') t;
    END IF;

    IF fields -> 'bundle' IS NOT NULL THEN
        INSERT INTO dispute_bundles (dispute_id, bundle)
        SELECT its_dispute, b.bundle FROM jsonb_populate_record(NULL::dispute_bundles, fields) b;
    END IF;

    IF fields -> 'findings' IS NOT NULL THEN
        INSERT INTO dispute_findings (dispute_id, found_at, key_id, sealed)
        SELECT its_dispute, f.found_at, f.key_id, f.sealed
        FROM jsonb_populate_record(NULL::dispute_findings, fields -> 'findings') f
        ON CONFLICT (dispute_id, found_at) DO UPDATE
        SET key_id = excluded.key_id, sealed = excluded.sealed;
    END IF;

    IF fields -> 'votes' IS NOT NULL THEN
        INSERT INTO dispute_votes (dispute_id, referee, key_id, sealed, reason_key_id, reason)
        SELECT its_dispute, v.referee, v.key_id, v.sealed, v.reason_key_id, v.reason
        FROM jsonb_populate_recordset(NULL::dispute_votes, fields -> 'votes') v;
    END IF;

    IF fields ->> 'state' IN ('ruled', 'final') THEN
        DELETE FROM dispute_votes v WHERE v.dispute_id = its_dispute;
    END IF;
END
$$;
