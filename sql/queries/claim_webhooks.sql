-- claim_webhooks: claim the webhooks that are due.
-- $1 now, $2 end of the claims, $3 maximum number
SELECT player_id, claim FROM claim_webhooks($1::timestamptz, $2::timestamptz, $3::integer)
