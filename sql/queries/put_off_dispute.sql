-- put_off_dispute: set the next check of a dispute.
-- $1 dispute, $2 version it was seen at, $3 when
SELECT put_off_dispute($1::uuid, $2::integer, $3::timestamptz)
