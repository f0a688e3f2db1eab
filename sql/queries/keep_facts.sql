-- keep_facts: keep what statistics need of a game, and take its row off the outbox.
-- $1 game, $2 its deck as JSON or null, $3 blind choices as JSON
SELECT keep_facts($1::uuid, $2::jsonb, $3::jsonb)
