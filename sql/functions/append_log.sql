-- append_log: add leaves, tiles and head to the public log in one transaction; the only way to do so.
--
-- `size` is the size of the tree on which the caller built. SH409 if the tree has grown (DETAIL:
-- its size): the caller reads and builds again. The lock serialises callers.
--
-- The outbox rows that requested the leaves are deleted in the same transaction, so a crash neither
-- loses nor repeats a leaf. The hashes of leaves are computed here from the stored bytes.
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
