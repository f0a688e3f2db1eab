-- restore_erase: repeat erasures made after the backup. Returns the number of players found.
-- $1 players, $2 times
SELECT count(*) FILTER (WHERE erase_player(e.player_id, e.erased_at))
FROM unnest($1::uuid[], $2::timestamptz[]) e (player_id, erased_at)
