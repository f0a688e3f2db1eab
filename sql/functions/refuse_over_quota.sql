-- refuse_over_quota: SH429 if a player has reached a quota; DETAIL names it.
--
-- Called in the transaction that adds one more. The player's row is locked first, so of two
-- concurrent writes the second counts the first. The lock does not conflict with hold_players.
--
-- One kind, with its number and its reason, is one row of `service/application/quotas.py`.
--
--   [{player, kind, most, since: null or time, game: null or the game of the notes,
--     other: null or the player who is challenged}]
CREATE OR REPLACE FUNCTION refuse_over_quota(quotas jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    quota  record;
    taken  bigint;
BEGIN
    PERFORM FROM players p
    WHERE p.player_id IN (SELECT (q.value ->> 'player')::uuid FROM jsonb_array_elements(quotas) q)
    ORDER BY p.player_id
    FOR NO KEY UPDATE;

    -- Each count is a separate statement, to see what was committed while the lock was awaited.
    FOR quota IN
        SELECT q.* FROM jsonb_to_recordset(quotas) q (
            player uuid, kind text, most integer, since timestamptz, game uuid, other uuid
        )
    LOOP
        CASE quota.kind
            WHEN 'tables' THEN
                taken := (
                    SELECT count(*) FROM tables t
                    WHERE t.host = quota.player AND t.status <> 'closed'
                );
            WHEN 'games' THEN
                taken := (
                    SELECT r.running FROM player_results r WHERE r.player_id = quota.player
                );
            WHEN 'rulesets' THEN
                taken := (SELECT count(*) FROM rulesets_custom r WHERE r.owner = quota.player);
            WHEN 'tokens' THEN
                taken := (SELECT count(*) FROM tokens k WHERE k.player_id = quota.player);
            WHEN 'new_tables' THEN
                taken := (
                    SELECT count(*) FROM tables t
                    WHERE t.host = quota.player AND t.created_at > quota.since
                );
            WHEN 'invitations' THEN  -- declined ones too: they stay until their table is closed
                taken := (
                    SELECT count(*) FROM invitations i
                    JOIN tables t ON t.table_id = i.table_id
                    WHERE t.host = quota.player
                );
            WHEN 'notes' THEN
                taken := (
                    SELECT count(*) FROM notes n
                    WHERE n.game_id = quota.game AND n.author = quota.player
                );
            WHEN 'notes_of_game' THEN
                taken := (SELECT count(*) FROM notes n WHERE n.game_id = quota.game);
            WHEN 'all_notes' THEN
                taken := (SELECT count(*) FROM notes n WHERE n.author = quota.player);
            WHEN 'new_seeks' THEN
                taken := (
                    SELECT count(*) FROM seeks k
                    WHERE k.player_id = quota.player AND k.created_at > quota.since
                );
            WHEN 'answers' THEN  -- bytes of those that are not rebuilt from the log
                taken := (
                    SELECT sum(octet_length(a.sealed)) FROM answers a
                    WHERE a.caller = quota.player
                        AND substr(a.sealed, 1, 4) <> '\x6c6f673a'::bytea
                );
            WHEN 'seeks' THEN
                taken := (
                    SELECT count(*) FROM seeks k
                    WHERE k.player_id = quota.player AND k.ended_at IS NULL
                        AND k.expires_at > quota.since
                );
            WHEN 'challenges' THEN
                taken := (
                    SELECT count(*) FROM challenges c
                    WHERE c.challenger = quota.player AND c.state = 'open' AND c.expires_at > quota.since
                );
            WHEN 'new_challenges' THEN
                taken := (
                    SELECT count(*) FROM challenges c
                    WHERE c.challenger = quota.player AND c.created_at > quota.since
                );
            WHEN 'challenges_of_pair' THEN
                taken := (
                    SELECT count(*) FROM challenges c
                    WHERE c.challenger = quota.player AND c.player = quota.other
                        AND c.state = 'open' AND c.expires_at > quota.since
                );
            WHEN 'challenged' THEN  -- blocked or not: the answer does not reveal a block
                taken := (
                    SELECT count(*) FROM challenges c
                    WHERE c.player = quota.player AND c.state = 'open' AND c.expires_at > quota.since
                );
            WHEN 'disputes' THEN
                taken := (
                    SELECT count(*) FROM disputes d
                    WHERE d.accuser = quota.player AND d.state <> 'final'
                );
            WHEN 'new_disputes' THEN
                taken := (
                    SELECT count(*) FROM disputes d
                    WHERE d.accuser = quota.player AND d.opened_at > quota.since
                );
        END CASE;
        IF taken >= quota.most THEN
            RAISE EXCEPTION 'the player has reached a quota'
                USING ERRCODE = 'SH429', DETAIL = quota.kind;
        END IF;
    END LOOP;
END
$$;
