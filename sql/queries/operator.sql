-- note_act: add a row to the operator log.
-- $1 time, $2 operator, $3 act, $4 target or null, $5 outcome
SELECT note_act($1::timestamptz, $2::text, $3::text, $4::uuid, $5::text)

-- list_trail: the operator log, newest first.
-- $1 row limit or null; of the others each restricts the list unless it is null:
-- $2 operator, $3 act, $4 target, $5 outcome or its first word, $6 first time, $7 time of the end
SELECT at, operator, act, target, outcome FROM trail
WHERE operator = coalesce($2::text, operator)
  AND act = coalesce($3::text, act)
  AND ($4::uuid IS NULL OR target = $4)
  AND ($5::text IS NULL OR $5 IN (outcome, split_part(outcome, ' ', 1)))
  AND at >= coalesce($6::timestamptz, '-infinity')
  AND at < coalesce($7::timestamptz, 'infinity')
ORDER BY at DESC, entry_id DESC LIMIT $1::bigint

-- rename_player: set the name of a player.
-- $1 player, $2 name
SELECT rename_player($1::uuid, $2::text)

-- end_tokens: end all tokens of a player.
-- $1 player
SELECT end_tokens($1::uuid)

-- hold_game: lock a game's stream until the end of the transaction; returns its state.
-- $1 game
SELECT
    s.version,
    s.head,
    g.status IN ('ended', 'aborted') AS over,
    EXISTS (SELECT 1 FROM archived a WHERE a.stream_id = $1::uuid) AS archived,
    EXISTS (SELECT 1 FROM outbox o WHERE o.stream_id = $1::uuid) AS outbox_pending
FROM streams s
JOIN games g ON g.game_id = s.stream_id
WHERE s.stream_id = $1::uuid AND s.kind = 'game'
FOR UPDATE OF s

-- archivable_games: games that were over before a time and can be archived, oldest first.
-- $1 time
WITH over AS (
    SELECT g.game_id, g.ended_at
    FROM games g
    WHERE g.ended_at < $1::timestamptz
        AND NOT EXISTS (SELECT FROM archived a WHERE a.stream_id = g.game_id)
)
SELECT g.game_id
FROM over g
WHERE NOT EXISTS (SELECT FROM outbox o WHERE o.stream_id = g.game_id)
ORDER BY g.ended_at, g.game_id

-- archive_stream: record a finished game as archived, and delete its events; returns how many.
-- $1 stream, $2 hash of its bundle
SELECT archive_stream($1::uuid, $2::bytea)
