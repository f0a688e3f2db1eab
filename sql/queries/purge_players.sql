-- purge_players: erase people who registered before a time and never did anything.
-- $1 registered before, $2 time
SELECT purge_players($1::timestamptz, $2::timestamptz)
