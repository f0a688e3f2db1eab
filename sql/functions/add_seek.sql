-- add_seek: add a player's seek; a repetition with the same id changes nothing.
--
-- SH401 if the player was erased, SH429 if the player has reached one of the quotas. The player's
-- row is locked by both checks, so that of two at once the second counts the first.
CREATE OR REPLACE FUNCTION add_seek(seek jsonb, quotas jsonb) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    player  uuid := (seek ->> 'player_id')::uuid;
BEGIN
    IF EXISTS (SELECT FROM seeks s WHERE s.seek_id = (seek ->> 'seek_id')::uuid) THEN
        RETURN false;
    END IF;
    PERFORM hold_players(ARRAY[player]);
    PERFORM refuse_over_quota(quotas);
    INSERT INTO seeks (
        seek_id, player_id, rulesets, seats, turn_seconds, swap_seconds, entropy, key, fill_after,
        created_at, expires_at, ended_at, table_id
    )
    SELECT
        r.seek_id, r.player_id, r.rulesets, r.seats, r.turn_seconds, r.swap_seconds, r.entropy, r.key,
        r.fill_after, r.created_at, r.expires_at, r.ended_at, r.table_id
    FROM jsonb_populate_record(NULL::seeks, seek) r
    ON CONFLICT ON CONSTRAINT seeks_pkey DO NOTHING;
    RETURN FOUND;
END
$$;
