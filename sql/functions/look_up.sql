-- look_up: the data that a request needs first, in one round trip: its player, answer and game.
--
-- STABLE: all statements see one snapshot. On a distributed database (decision 0060) each sees its
-- own; therefore events that `version` does not count are left out. Small statements instead of one
-- join over all tables, whose plan would depend on which arguments are null.
--
-- Only for processes of earlier releases: remove after 2027-05-31.
--
-- Each argument may be null: then nothing is read for it. `beside` adds data that is not in the log
-- of the game: its secret, table, players with their names, and the first event of the table.
CREATE OR REPLACE FUNCTION look_up(
    token bytea, its_request_key bytea, game uuid, after_seq integer, named uuid[], beside boolean,
    OUT player_id uuid, OUT name text, OUT body_hash bytea, OUT sealed bytea,
    OUT kind text, OUT version integer, OUT head bytea, OUT lines bytea[], OUT back jsonb,
    OUT names jsonb, OUT key_id text, OUT ciphertext bytea,
    OUT table_id uuid, OUT host uuid, OUT public boolean, OUT invite_hash bytea,
    OUT seats jsonb, OUT opened bytea
)
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp
AS $$
BEGIN
    IF token IS NOT NULL THEN
        SELECT p.player_id, p.name INTO look_up.player_id, look_up.name
        FROM players p WHERE p.token_hash = token;
    END IF;

    IF its_request_key IS NOT NULL AND look_up.player_id IS NOT NULL THEN
        SELECT a.body_hash, a.sealed INTO look_up.body_hash, look_up.sealed
        FROM answers a WHERE a.caller = look_up.player_id AND a.request_key = its_request_key;
    END IF;

    IF game IS NOT NULL THEN
        SELECT s.kind, s.version, s.head, g.back, g.table_id
        INTO look_up.kind, look_up.version, look_up.head, look_up.back, look_up.table_id
        FROM streams s
        LEFT JOIN games g ON g.game_id = s.stream_id
        WHERE s.stream_id = game;
        lines := '{}';
        IF look_up.version > after_seq THEN
            lines := ARRAY(
                SELECT e.line FROM events e
                WHERE e.stream_id = game AND e.seq >= after_seq AND e.seq < look_up.version
                ORDER BY e.seq
            );
        END IF;
    END IF;

    IF cardinality(named) > 0 THEN
        names := (SELECT jsonb_object_agg(p.player_id, p.name) FROM players p WHERE p.player_id = ANY (named));
    END IF;

    IF beside AND look_up.table_id IS NOT NULL THEN
        SELECT c.key_id, c.ciphertext INTO look_up.key_id, look_up.ciphertext
        FROM secrets c WHERE c.game_id = game;
        SELECT t.host, t.public, t.invite_hash INTO look_up.host, look_up.public, look_up.invite_hash
        FROM tables t WHERE t.table_id = look_up.table_id;
        seats := (
            SELECT jsonb_agg(jsonb_build_array(w.player_id, p.name) ORDER BY w.seat)
            FROM game_seats w
            LEFT JOIN players p ON p.player_id = w.player_id
            WHERE w.game_id = game
        );
        opened := (SELECT e.line FROM events e WHERE e.stream_id = look_up.table_id AND e.seq = 0);
    END IF;
END
$$;
