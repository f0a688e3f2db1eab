-- note_webhook_look: store the new deliveries of a webhook, when they were found, and what was open then.
--
-- A newer one replaces one of the same type and id, also if that was never sent; `gone` ones are
-- deleted. False, and nothing is stored, if the claim is not valid any more.
--
--   added: [{type, id, mark, body, found_at}], gone: [{type, id}]
CREATE OR REPLACE FUNCTION note_webhook_look(
    player uuid, its_claim integer, at timestamptz, open_tables uuid[], open_games uuid[], added jsonb, gone jsonb
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    UPDATE webhooks w SET looked_at = at, tables = open_tables, games = open_games
    WHERE w.player_id = player AND w.claim = its_claim;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM webhook_deliveries d
    USING jsonb_to_recordset(gone) g (type text, id uuid)
    WHERE d.player_id = player AND d.type = g.type AND d.id = g.id;
    INSERT INTO webhook_deliveries (player_id, type, id, mark, body, found_at)
    SELECT player, a.type, a.id, a.mark, a.body, a.found_at
    FROM jsonb_to_recordset(added) a (type text, id uuid, mark integer, body text, found_at timestamptz)
    ON CONFLICT ON CONSTRAINT webhook_deliveries_pkey DO UPDATE
        SET mark = excluded.mark, body = excluded.body, found_at = excluded.found_at, sent_at = NULL;
    RETURN true;
END
$$;
