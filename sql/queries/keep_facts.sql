-- keep_facts: store the data of a game for statistics, and delete its outbox row.
-- $1 game, $2 its deck as JSON or null, $3 blind choices as JSON
SELECT keep_facts($1::uuid, $2::jsonb, $3::jsonb)
