-- wake_webhooks: let the webhooks of some players be due.
-- $1 players, $2 time
SELECT wake_webhooks($1::uuid[], $2::timestamptz)
