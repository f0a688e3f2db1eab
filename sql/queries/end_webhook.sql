-- end_webhook: delete the webhook of the player with a token.
-- $1 token of the request
SELECT end_webhook($1::text)
