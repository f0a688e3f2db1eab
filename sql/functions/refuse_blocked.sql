-- refuse_blocked: SH409 if one of `hosts` blocks one of `guests`, who are to be seated with them.
--
-- The guests are locked as in keep_block, so a block at the same moment is seen here, or waits and is
-- later than the seat. DETAIL: the stream that is to be read again.
CREATE OR REPLACE FUNCTION refuse_blocked(hosts uuid[], guests uuid[], stream uuid) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM lock_guests(guests);

    -- A separate statement, because it must see what was committed while the locks were awaited.
    IF EXISTS (SELECT FROM blocks b WHERE b.player = ANY (hosts) AND b.blocked = ANY (guests)) THEN
        RAISE EXCEPTION 'a player is blocked'
            USING ERRCODE = 'SH409', DETAIL = jsonb_build_object('stream', stream, 'version', 0);
    END IF;
END
$$;
