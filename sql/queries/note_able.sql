-- note_able: record that the service can take moves.
-- $1 shortest gap that is an outage
SELECT note_able($1::interval)
