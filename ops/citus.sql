-- Distribute the record over a Citus cluster, by the id of the stream (ops/decisions/0060).
--
--   psql "$OWNER_URL" -v ON_ERROR_STOP=1 -f ops/citus.sql
--
-- Run once on the coordinator, after `shithead migrate` and citus_add_node, before the first game or
-- with all processes stopped. Every node needs citus.enable_unsafe_triggers = on: the triggers that
-- keep the record append-only are then on every shard.

BEGIN;

-- Tables that commits of every stream read: copied to every node.
SELECT create_reference_table('players');
SELECT create_reference_table('tokens');
SELECT create_reference_table('rulesets_custom');
SELECT create_reference_table('blocks');

-- Disputes: their keys are by dispute and by game, so that no single column is in all of them.
SELECT create_reference_table('disputes');
SELECT create_reference_table('dispute_referees');
SELECT create_reference_table('dispute_votes');
SELECT create_reference_table('dispute_texts');
SELECT create_reference_table('dispute_bundles');
SELECT create_reference_table('dispute_findings');

-- Rows of a stream; equal ids are on the same node.
SELECT create_distributed_table('streams', 'stream_id');
SELECT create_distributed_table('events', 'stream_id', colocate_with => 'streams');
SELECT create_distributed_table('archived', 'stream_id', colocate_with => 'streams');
SELECT create_distributed_table('secrets', 'game_id', colocate_with => 'streams');
SELECT create_distributed_table('games', 'game_id', colocate_with => 'streams');
SELECT create_distributed_table('game_seats', 'game_id', colocate_with => 'streams');
SELECT create_distributed_table('refusals', 'game_id', colocate_with => 'streams');
SELECT create_distributed_table('readings', 'game_id', colocate_with => 'streams');
SELECT create_distributed_table('notes', 'game_id', colocate_with => 'streams');
SELECT create_distributed_table('shuffled_decks', 'game_id', colocate_with => 'streams');
SELECT create_distributed_table('blind_choices', 'game_id', colocate_with => 'streams');
SELECT create_distributed_table('tables', 'table_id', colocate_with => 'streams');
SELECT create_distributed_table('table_seats', 'table_id', colocate_with => 'streams');
SELECT create_distributed_table('invitations', 'table_id', colocate_with => 'streams');
SELECT create_distributed_table('challenges', 'table_id', colocate_with => 'streams');

-- Answers belong to a caller, who plays in many games.
SELECT create_distributed_table('answers', 'caller', colocate_with => 'none');

-- All other tables stay on the coordinator: the outbox and the public log have one order over all
-- streams, and so has the operator log. Results, ratings, handles, moments, seeks, webhooks and
-- webhook_deliveries are rows of players, who play in many games.

COMMIT;

-- Players are locked by advisory locks of the coordinator, through which every transaction goes:
-- rows of a reference table that are locked in the middle of a transaction cause distributed
-- deadlocks. Run this file again after a release that changes one of these functions.

-- lock_players: wait for, and hold until the commit, the locks of some players, in one order.
CREATE OR REPLACE FUNCTION lock_players(wanted uuid[], exclusive boolean) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    number  bigint;
BEGIN
    FOR number IN
        SELECT DISTINCT hashtextextended(w::text, 0) AS n FROM unnest(wanted) w ORDER BY n
    LOOP
        IF exclusive THEN
            PERFORM pg_advisory_xact_lock(number);
        ELSE
            PERFORM pg_advisory_xact_lock_shared(number);
        END IF;
    END LOOP;
END
$$;
REVOKE ALL ON FUNCTION lock_players FROM PUBLIC;

CREATE OR REPLACE FUNCTION hold_players(wanted uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM lock_players(wanted, exclusive => false);

    -- A separate statement, because it must see what was committed while the locks were awaited.
    IF EXISTS (SELECT FROM players p WHERE p.player_id = ANY (wanted) AND p.erased_at IS NOT NULL) THEN
        RAISE EXCEPTION 'a player has been erased' USING ERRCODE = 'SH401';
    END IF;
END
$$;

-- lock_guests: locks of their own, which do not conflict with those of lock_players.
CREATE OR REPLACE FUNCTION lock_guests(wanted uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    number  bigint;
BEGIN
    FOR number IN
        SELECT DISTINCT hashtextextended('guest ' || w::text, 0) AS n FROM unnest(wanted) w ORDER BY n
    LOOP
        PERFORM pg_advisory_xact_lock(number);
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION erase_player(player uuid, at timestamptz) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM lock_players(ARRAY[player], exclusive => true);

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

    RETURN erase_rows(player, at);
END
$$;
