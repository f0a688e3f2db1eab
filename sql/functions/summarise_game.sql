-- summarise_game: set the columns of a game's summary row that `summary` names, and its version.
--
-- The first append with a summary inserts the row and its seats, which never change: a seat shows its
-- cards to its player. Their players are locked (hold_players), so no hand is dealt to a player who is
-- erased at the same moment. SH400 for seats in a later append.
--
-- The columns are read from the catalogue, which takes 0.4 ms. So only append_game_move, the shorter
-- path of an ordinary move, names the columns that a move sets. A new row gets the default of each column
-- that `summary` does not name, because the next release may have added one.
CREATE OR REPLACE FUNCTION summarise_game(game uuid, reached integer, summary jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    fields   jsonb := coalesce(summary, '{}') || jsonb_build_object('game_id', game, 'version', reached);
    columns  text;
    named    text;
    updated  integer;
BEGIN
    SELECT
        string_agg(quote_ident(a.attname), ', '),
        string_agg(quote_ident(a.attname), ', ') FILTER (WHERE fields ? a.attname)
    INTO columns, named
    FROM pg_attribute a
    WHERE
        a.attrelid = 'games'::regclass AND a.attnum > 0 AND NOT a.attisdropped
        AND a.attname <> 'game_id';

    EXECUTE format(
        'UPDATE games g SET (%1$s) = (SELECT %1$s FROM jsonb_populate_record(g, $1) r) '
        'WHERE g.game_id = $2',
        columns
    ) USING fields, game;
    GET DIAGNOSTICS updated = ROW_COUNT;

    IF updated = 0 AND summary IS NOT NULL THEN
        EXECUTE format(
            'INSERT INTO games (game_id, %1$s) SELECT game_id, %1$s FROM jsonb_populate_record(NULL::games, $1)',
            named
        ) USING fields;
    END IF;

    IF fields -> 'seats' IS NOT NULL THEN
        IF updated > 0 THEN
            RAISE EXCEPTION 'the seats of game % never change', game USING ERRCODE = 'SH400';
        END IF;
        PERFORM hold_players(ARRAY(
            SELECT r.player_id FROM jsonb_populate_recordset(NULL::game_seats, fields -> 'seats') r
            WHERE r.player_id IS NOT NULL
        ));
        INSERT INTO game_seats (game_id, seat, kind, bot, player_id, dealt_at)
        SELECT game, r.seat, r.kind, r.bot, r.player_id, (fields ->> 'created_at')::timestamptz
        FROM jsonb_populate_recordset(NULL::game_seats, fields -> 'seats') r;
    END IF;
END
$$;
