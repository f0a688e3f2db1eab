-- erase_handles: delete the handles of an erased player; their hashes keep them from others for a time.
CREATE OR REPLACE FUNCTION erase_handles(player uuid, at timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    UPDATE handles h
    SET player_id = NULL, handle = NULL, free_at = coalesce(h.free_at, handle_free_at(at))
    WHERE h.player_id = erase_handles.player;
END
$$;
