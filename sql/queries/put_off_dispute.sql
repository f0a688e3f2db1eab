-- put_off_dispute: set the next check of a dispute.
-- $1 dispute, $2 version seen, $3 time of the next check
SELECT put_off_dispute($1::uuid, $2::integer, $3::timestamptz)
