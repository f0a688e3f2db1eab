-- begin_webhook: begin the work under a claim; its number rises by one.
-- $1 player, $2 claim, $3 now, $4 end of the claim
SELECT begin_webhook($1::uuid, $2::integer, $3::timestamptz, $4::timestamptz)
