-- add_seek: add a player's seek; returns its id, or that of an equal one which is open already.
--
-- A repetition with the same id changes nothing; an equal seek is open for as long as the new one
-- would be. SH401 if the player was erased, SH429 if the player has reached one of the quotas. The
-- player's row is locked first, so that of two at once the second sees the first.
CREATE OR REPLACE FUNCTION add_seek(seek jsonb, quotas jsonb) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    new    seeks := jsonb_populate_record(NULL::seeks, seek);
    equal  uuid;
BEGIN
    IF EXISTS (SELECT FROM seeks s WHERE s.seek_id = new.seek_id) THEN
        RETURN new.seek_id;
    END IF;
    PERFORM hold_players(ARRAY[new.player_id]);
    PERFORM FROM players p WHERE p.player_id = new.player_id FOR NO KEY UPDATE;

    -- A separate statement, because it must see what was committed while the lock was awaited.
    UPDATE seeks s SET
        expires_at = greatest(s.expires_at, new.expires_at), standing = new.standing
    WHERE s.player_id = new.player_id AND s.ended_at IS NULL AND s.expires_at > new.created_at
        AND (s.rulesets, s.seats, s.entropy, s.only_stayers, s.keep)
            = (new.rulesets, new.seats, new.entropy, new.only_stayers, new.keep)
        AND (s.turn_seconds, s.swap_seconds, s.reserve_seconds, s.key, s.fill_after)
            IS NOT DISTINCT FROM
                (new.turn_seconds, new.swap_seconds, new.reserve_seconds, new.key, new.fill_after)
    RETURNING s.seek_id INTO equal;
    IF FOUND THEN
        RETURN equal;
    END IF;
    PERFORM refuse_over_quota(quotas);
    INSERT INTO seeks (
        seek_id, player_id, rulesets, seats, turn_seconds, swap_seconds, reserve_seconds, entropy,
        only_stayers, standing, key, fill_after, keep,
        created_at, expires_at, ended_at, table_id
    )
    VALUES (
        new.seek_id, new.player_id, new.rulesets, new.seats, new.turn_seconds, new.swap_seconds,
        new.reserve_seconds, new.entropy, new.only_stayers, new.standing, new.key, new.fill_after, new.keep, new.created_at, new.expires_at, new.ended_at,
        new.table_id
    )
    ON CONFLICT ON CONSTRAINT seeks_pkey DO NOTHING;
    RETURN new.seek_id;
END
$$;
