-- Roles and privileges; applied again after every change of the schema.
--
-- The owner is the role that runs the migrations; no process of the application connects as it. The
-- other roles are created here if they are missing (a role belongs to the whole server, not to one
-- database); if the owner may not create roles, an administrator creates them.
--
--   shithead_service   for the API and the workers: reads, and executes the functions that write
--   shithead_reader    for statistics and dashboards: reads no names, texts or secrets
--   shithead_auditor   for checks of every stream against its head: reads no tokens or secrets
--
-- shithead_service may log in and has no password, so it can connect only over a trusted connection
-- (the embedded server's private socket) until the owner sets a password. The other two are group
-- roles, to be granted to administrators.

DO $$
DECLARE
    wanted  record;
BEGIN
    FOR wanted IN
        SELECT *
        FROM (VALUES
            ('shithead_service', 'LOGIN'), ('shithead_reader', 'NOLOGIN'), ('shithead_auditor', 'NOLOGIN')
        ) roles (name, login)
        WHERE NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = roles.name)
    LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I %s', wanted.name, wanted.login);
        EXCEPTION
            WHEN duplicate_object OR unique_violation THEN
                NULL;  -- created at the same moment from another database
        END;
    END LOOP;
END
$$;

GRANT USAGE ON SCHEMA public TO shithead_service, shithead_reader, shithead_auditor;

REVOKE ALL ON
    streams, events, archived, secrets, answers, outbox, event_log,
    players, handles, tokens, webhooks, webhook_deliveries, games, game_seats, player_results, tables, table_seats,
    refusals, readings, rulesets_custom,
    disputes, dispute_referees, dispute_texts, dispute_bundles, dispute_findings,
    dispute_votes, notes, blocks, invitations, challenges, seeks, shuffled_decks, blind_choices, ratings,
    ratings_reached,
    log_leaves, log_hashes, log_heads, log_cosignatures, log_time_stamps,
    log_damage, trail,
    game_rows, table_rows, open_invitations, unused_players, availability, write_probes, applied_migrations,
    applied_files
FROM PUBLIC, shithead_service, shithead_reader, shithead_auditor;

GRANT SELECT ON
    streams, events, archived, secrets, answers, outbox,
    players, handles, tokens, webhooks, webhook_deliveries, games, game_seats, player_results, tables, table_seats,
    refusals, readings, rulesets_custom,
    disputes, dispute_referees, dispute_texts, dispute_bundles, dispute_findings,
    dispute_votes, notes, blocks, invitations, challenges, seeks, shuffled_decks, blind_choices, ratings,
    ratings_reached,
    log_leaves, log_hashes, log_heads, log_cosignatures, log_time_stamps,
    log_damage,
    game_rows, table_rows, open_invitations, availability, applied_migrations, applied_files
TO shithead_service;

GRANT SELECT ON event_log, streams, archived, games, game_seats, rulesets_custom TO shithead_reader;

GRANT SELECT ON
    event_log, streams, events, archived, games, game_seats, readings, rulesets_custom
TO shithead_auditor;

GRANT SELECT ON log_leaves, log_hashes, log_heads, log_cosignatures, log_time_stamps
TO shithead_reader, shithead_auditor;

GRANT SELECT ON trail TO shithead_auditor;

REVOKE ALL ON FUNCTION
    append_events, append_stream, open_stream, refuse_version, keep_answer, summarise_game,
    summarise_table, refuse_change, refuse_delete, check_archived, archive_stream, drop_outbox,
    purge_answers, create_player, erase_player,
    record_attempt, check_refusals, record_reading, save_ruleset, come_back, put_off,
    summarise_dispute, keep_facts, try_append_events, append_game_move,
    refuse_after_seal, refuse_after_close, count_hands,
    is_over, refuse_future, prev_of
FROM PUBLIC;

-- Nothing here uses large objects, which any role could fill the disk with. The functions belong to
-- an administrator; an owner who is none leaves them as they are.
DO $$
BEGIN
    REVOKE EXECUTE ON FUNCTION
        lo_creat(integer), lo_create(oid), lo_from_bytea(oid, bytea), lo_open(oid, integer),
        lo_put(oid, bigint, bytea), lowrite(integer, bytea)
    FROM PUBLIC;
EXCEPTION
    WHEN insufficient_privilege THEN
        NULL;
END
$$;

REVOKE ALL ON FUNCTION
    append_log, sign_log_head, keep_cosignature, keep_time_stamp, keep_log_damage, refuse_log_change
FROM PUBLIC;

REVOKE ALL ON FUNCTION note_act, rename_player, purge_refusals, purge_players, hold_players
FROM PUBLIC;

REVOKE ALL ON FUNCTION refuse_over_quota, save_ruleset_within, may_see_game, look_up_request
FROM PUBLIC;

GRANT EXECUTE ON FUNCTION save_ruleset_within, may_see_game, look_up_request
TO shithead_service;

REVOKE ALL ON FUNCTION
    issue_token, end_token, end_tokens, note_token_use, add_token, player_of_issuer,
    is_full_token
FROM PUBLIC;

GRANT EXECUTE ON FUNCTION issue_token, end_token, note_token_use TO shithead_service;

GRANT EXECUTE ON FUNCTION append_log, sign_log_head, keep_cosignature, keep_time_stamp, keep_log_damage
TO shithead_service;

REVOKE ALL ON FUNCTION query_times FROM PUBLIC;

GRANT EXECUTE ON FUNCTION query_times TO shithead_service;

REVOKE ALL ON FUNCTION
    put_off_dispute, note_able, probe_write, keep_ratings, result_is
FROM PUBLIC;

GRANT EXECUTE ON FUNCTION put_off_dispute, note_able, probe_write, keep_ratings, result_is
TO shithead_service;

REVOKE ALL ON FUNCTION
    set_webhook, end_webhook, delete_webhook, stop_webhook, wake_webhooks, claim_webhooks, begin_webhook,
    note_webhook_state, note_webhook_look, note_webhook_sent
FROM PUBLIC;

GRANT EXECUTE ON FUNCTION
    set_webhook, end_webhook, wake_webhooks, claim_webhooks, begin_webhook,
    note_webhook_state, note_webhook_look, note_webhook_sent
TO shithead_service;

REVOKE ALL ON FUNCTION keep_note, delete_note FROM PUBLIC;

GRANT EXECUTE ON FUNCTION keep_note, delete_note TO shithead_service;

REVOKE ALL ON FUNCTION keep_block, delete_block, refuse_blocked, lock_guests, keep_invitation, end_invitation
FROM PUBLIC;

GRANT EXECUTE ON FUNCTION keep_block, delete_block, keep_invitation, end_invitation
TO shithead_service;

REVOKE ALL ON FUNCTION purge_challenges FROM PUBLIC;

GRANT EXECUTE ON FUNCTION purge_challenges TO shithead_service;

REVOKE ALL ON FUNCTION add_seek, renew_seek, renew_seeks, withdraw_seek, claim_seeks, purge_seeks FROM PUBLIC;

GRANT EXECUTE ON FUNCTION add_seek, renew_seek, renew_seeks, withdraw_seek, purge_seeks TO shithead_service;

REVOKE ALL ON FUNCTION
    recover_account, renew_recovery, rename_by_token, erase_by_token
FROM PUBLIC;

GRANT EXECUTE ON FUNCTION
    recover_account, renew_recovery, rename_by_token, erase_by_token
TO shithead_service;

REVOKE ALL ON FUNCTION erase_rows, choose_handle, erase_handles, handle_free_at, purge_handles FROM PUBLIC;

GRANT EXECUTE ON FUNCTION choose_handle, purge_handles TO shithead_service;

GRANT EXECUTE ON FUNCTION purge_refusals, purge_players TO shithead_service;

GRANT EXECUTE ON FUNCTION
    append_events, drop_outbox, purge_answers, create_player, record_attempt, record_reading,
    save_ruleset, come_back, put_off, keep_facts, try_append_events, append_game_move
TO shithead_service;

-- A function of an earlier release, which is in the database and not in sql/functions, keeps its grants
-- until `shithead migrate --finish` drops it.
