-- purge_players: erase players who registered before a time and were never active.
-- $1 time before which they registered, $2 time of the erasure
SELECT purge_players($1::timestamptz, $2::timestamptz)
