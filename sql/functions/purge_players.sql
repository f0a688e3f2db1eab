-- purge_players: erase at most 1,000 players who registered before a time and were never active.
--
-- Returns the number erased; the caller repeats the call until it returns 0.
--
-- A player may become active at the same moment. Players locked by hold_players are skipped. The
-- others are locked and checked again: an earlier commit is seen then, and a later one waits and
-- gets SH401.
CREATE OR REPLACE FUNCTION purge_players(before timestamptz, at timestamptz) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
DECLARE
    found   uuid[];
    locked  uuid[];
BEGIN
    PERFORM refuse_future(before);
    IF NOT isfinite(at) THEN
        RAISE EXCEPTION '% is no time of an erasure', at USING ERRCODE = 'SH400';
    END IF;
    found := ARRAY(SELECT u.player_id FROM unused_players u WHERE u.created_at < before LIMIT 1000);
    locked := ARRAY(
        SELECT p.player_id FROM players p WHERE p.player_id = ANY (found) FOR UPDATE SKIP LOCKED
    );
    RETURN (
        SELECT count(*) FILTER (WHERE erase_player(u.player_id, at))
        FROM unused_players u
        WHERE u.player_id = ANY (locked)
    );
END
$$;
