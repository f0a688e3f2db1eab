-- keep_note: write or replace a player's note on an event of a game.
--
-- SH401 if the player was erased. SH429 if the player has 200 notes on the game, or the game 2,000:
-- two requests at once may exceed a limit by one.
CREATE OR REPLACE FUNCTION keep_note(
    game uuid, its_author uuid, its_seq integer, its_words text, its_visibility text, written timestamptz
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM hold_players(ARRAY[its_author]);
    UPDATE notes n SET words = its_words, visibility = its_visibility, at = written
    WHERE n.game_id = game AND n.author = its_author AND n.seq = its_seq;
    IF FOUND THEN
        RETURN;
    END IF;
    IF (SELECT count(*) FROM notes n WHERE n.game_id = game AND n.author = its_author) >= 200
        OR (SELECT count(*) FROM notes n WHERE n.game_id = game) >= 2000
    THEN
        RAISE EXCEPTION 'the notes have reached a quota' USING ERRCODE = 'SH429', DETAIL = 'notes';
    END IF;
    INSERT INTO notes (game_id, author, seq, words, visibility, at)
    VALUES (game, its_author, its_seq, its_words, its_visibility, written)
    ON CONFLICT ON CONSTRAINT notes_pkey DO UPDATE
        SET words = excluded.words, visibility = excluded.visibility, at = excluded.at;
END
$$;
