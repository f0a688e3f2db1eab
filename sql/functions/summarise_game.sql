-- summarise_game: set the columns of a game's summary row that `summary` names, and its version.
--
-- The first append with a summary inserts the row; `seats` replaces all seats. Their players are
-- locked (hold_players), so no hand is dealt to a player who is erased at the same moment.
CREATE OR REPLACE FUNCTION summarise_game(game uuid, reached integer, summary jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    fields  jsonb := coalesce(summary, '{}') || jsonb_build_object('game_id', game, 'version', reached);
BEGIN
    UPDATE games g SET (
        table_id, hand, ruleset_id, status, version, turn, dealer, created_at, ended_at,
        reason, shithead, places, public, wake_kind, wake_at, wake_seat, back
    ) = (
        SELECT
            r.table_id, r.hand, r.ruleset_id, r.status, r.version, r.turn, r.dealer, r.created_at,
            r.ended_at, r.reason, r.shithead, r.places, r.public, r.wake_kind, r.wake_at,
            r.wake_seat, r.back
        FROM jsonb_populate_record(g, fields) r
    )
    WHERE g.game_id = game;

    IF NOT FOUND AND summary IS NOT NULL THEN
        INSERT INTO games SELECT * FROM jsonb_populate_record(NULL::games, fields);
    END IF;

    IF fields -> 'seats' IS NOT NULL THEN
        PERFORM hold_players(ARRAY(
            SELECT r.player_id FROM jsonb_populate_recordset(NULL::game_seats, fields -> 'seats') r
            WHERE r.player_id IS NOT NULL
        ));
        DELETE FROM game_seats s WHERE s.game_id = game;
        INSERT INTO game_seats (game_id, seat, kind, bot, player_id)
        SELECT game, r.seat, r.kind, r.bot, r.player_id
        FROM jsonb_populate_recordset(NULL::game_seats, fields -> 'seats') r;
    END IF;
END
$$;
