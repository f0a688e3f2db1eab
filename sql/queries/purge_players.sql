-- purge_players: erase players who registered before a time and were never active.
-- $1 registered before, $2 time
SELECT purge_players($1::timestamptz, $2::timestamptz)
