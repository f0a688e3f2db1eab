-- claim_seeks: end open seeks at the table that the same commit opens.
--
-- SH409 if one of them is not open any more, so the whole commit is undone: a seek ends at one table
-- at most, and a table has the players of all its seeks or does not exist; nor is one of them open if
-- one of its players blocks another. The other open seeks of its players end without a table, but those
-- to keep. The players are locked before their seeks, as in an erasure, and the seeks in the order of
-- their ids.
--
--   {table, at, ids: [seek]}
CREATE OR REPLACE FUNCTION claim_seeks(claim jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    at     timestamptz := (claim ->> 'at')::timestamptz;
    ids    uuid[]      := ARRAY(SELECT i.value::uuid FROM jsonb_array_elements_text(claim -> 'ids') i);
    seek   uuid;
    them   uuid[]      := ARRAY(SELECT s.player_id FROM seeks s WHERE s.seek_id = ANY (ids));
BEGIN
    PERFORM hold_players(them);
    PERFORM refuse_blocked(them, them, (claim ->> 'table')::uuid);
    PERFORM FROM seeks s
    WHERE s.seek_id = ANY (ids) OR s.player_id = ANY (them) AND s.ended_at IS NULL AND NOT s.keep
    ORDER BY s.seek_id
    FOR NO KEY UPDATE;
    FOR seek IN
        SELECT i.id FROM unnest(ids) i (id) ORDER BY i.id
    LOOP
        UPDATE seeks s SET ended_at = at, table_id = (claim ->> 'table')::uuid
        WHERE s.seek_id = seek AND s.ended_at IS NULL AND s.expires_at > at;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'seek % is not open', seek
                USING ERRCODE = 'SH409', DETAIL = jsonb_build_object('stream', seek, 'version', 0);
        END IF;
    END LOOP;
    UPDATE seeks s SET ended_at = at
    WHERE s.player_id = ANY (them) AND s.ended_at IS NULL AND NOT s.keep;
END
$$;
