-- append_log: the only door into the public log; leaves, tiles and head together, or nothing.
--
-- Takes the size the caller built on. If the tree has grown, SQLSTATE SH409 says so (DETAIL: its
-- size), nothing is written, and the caller reads and builds again. The lock makes two callers
-- wait for each other here instead of failing on a key; the comparison decides.
--
-- The outbox rows that asked for the leaves go in the same transaction: a crash loses no leaf and
-- doubles none. The hashes of leaves are made here, from the bytes that are stored.
--
--   {"size", "root" (base64), "at", "leaves": [{game, version, data: text}],
--    "hashes": [{level from 1, position, hash (base64)}], "done": [{stream, version}]}
CREATE OR REPLACE FUNCTION append_log(batch jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    built_on  bigint := (batch ->> 'size')::bigint;
    added     integer := jsonb_array_length(batch -> 'leaves');
    present   bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(5001006962);
    SELECT max(h.size) INTO present FROM log_heads h;
    IF present <> built_on THEN
        RAISE EXCEPTION 'the public log has % leaves, not %', present, built_on
            USING ERRCODE = 'SH409', DETAIL = json_build_object('size', present);
    END IF;

    DELETE FROM outbox o
    USING jsonb_array_elements(batch -> 'done') d
    WHERE o.topic = 'log'
        AND o.stream_id = (d.value ->> 'stream')::uuid
        AND o.version = (d.value ->> 'version')::integer;

    IF added = 0 THEN
        RETURN;
    END IF;

    INSERT INTO log_leaves (leaf_index, game_id, version, data, added_at)
    SELECT
        built_on + l.place - 1,
        (l.value ->> 'game')::uuid,
        (l.value ->> 'version')::integer,
        convert_to(l.value ->> 'data', 'UTF8'),
        (batch ->> 'at')::timestamptz
    FROM jsonb_array_elements(batch -> 'leaves') WITH ORDINALITY l (value, place);

    INSERT INTO log_hashes (level, position, hash)
    SELECT 0, l.leaf_index, sha256('\x00'::bytea || l.data)
    FROM log_leaves l
    WHERE l.leaf_index >= built_on;

    INSERT INTO log_hashes (level, position, hash)
    SELECT
        (h.value ->> 'level')::integer,
        (h.value ->> 'position')::bigint,
        decode(h.value ->> 'hash', 'base64')
    FROM jsonb_array_elements(batch -> 'hashes') h
    WHERE (h.value ->> 'level')::integer > 0;

    INSERT INTO log_heads (size, root, made_at)
    VALUES (
        built_on + added, decode(batch ->> 'root', 'base64'), (batch ->> 'at')::timestamptz
    );
END
$$;
