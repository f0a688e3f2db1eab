-- keep_facts: store the data of a game for statistics, and delete its outbox row.
--
-- A repeated call changes nothing. `its_deck` is null if the game was aborted before the deal.
CREATE OR REPLACE FUNCTION keep_facts(game uuid, its_deck jsonb, its_choices jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    INSERT INTO shuffled_decks (game_id, ruleset_id, aborted, deck, dealt, to_people, ended_at)
    SELECT r.game_id, r.ruleset_id, r.aborted, r.deck, r.dealt, r.to_people, r.ended_at
    FROM jsonb_populate_record(
        NULL::shuffled_decks, its_deck || jsonb_build_object('game_id', game)
    ) r
    WHERE its_deck IS NOT NULL
    ON CONFLICT ON CONSTRAINT shuffled_decks_pkey DO NOTHING;

    INSERT INTO blind_choices (game_id, seq, player_id, slots, playable, fitted, ended_at)
    SELECT game, c.seq, c.player_id, c.slots, c.playable, c.fitted, c.ended_at
    FROM jsonb_populate_recordset(NULL::blind_choices, its_choices) c
    ON CONFLICT ON CONSTRAINT blind_choices_pkey DO NOTHING;

    DELETE FROM outbox o WHERE o.stream_id = game AND o.topic = 'statistics';
END
$$;
