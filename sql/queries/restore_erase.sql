-- restore_erase: erase people again who were erased after the backup. Returns how many it held.
-- $1 players, $2 times
SELECT count(*) FILTER (WHERE erase_player(e.player_id, e.erased_at))
FROM unnest($1::uuid[], $2::timestamptz[]) e (player_id, erased_at)
