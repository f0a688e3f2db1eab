-- keep_note: write or replace a player's note on an event of a game.
--
-- SH401 if the player was erased. SH429 if a new note is above one of the quotas; the author's row is
-- locked by their count, so of two notes at once the second counts the first.
CREATE OR REPLACE FUNCTION keep_note(
    game uuid, its_author uuid, its_seq integer, its_words text, its_visibility text,
    written timestamptz, quotas jsonb
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
    PERFORM refuse_over_quota(quotas);
    INSERT INTO notes (game_id, author, seq, words, visibility, at)
    VALUES (game, its_author, its_seq, its_words, its_visibility, written)
    ON CONFLICT ON CONSTRAINT notes_pkey DO UPDATE
        SET words = excluded.words, visibility = excluded.visibility, at = excluded.at;
END
$$;
