-- Readings: what the game was at, so that the same look again can be told, and pages of them.
ALTER TABLE readings ADD COLUMN version integer;  -- of the game; null where none was noted
CREATE INDEX readings_by_time ON readings (game_id, at, reading_id);

-- People who never did anything. Doing something is what leaves a trace: a seat, a table, a
-- ruleset, a part in a dispute.
CREATE VIEW unused_players AS
SELECT p.player_id, p.created_at
FROM players p
WHERE p.erased_at IS NULL
    AND NOT EXISTS (SELECT FROM game_seats s WHERE s.player_id = p.player_id)
    AND NOT EXISTS (SELECT FROM table_seats s WHERE s.player_id = p.player_id)
    AND NOT EXISTS (SELECT FROM tables t WHERE t.host = p.player_id)
    AND NOT EXISTS (SELECT FROM rulesets_custom r WHERE r.owner = p.player_id)
    AND NOT EXISTS (SELECT FROM disputes d WHERE d.accuser = p.player_id)
    AND NOT EXISTS (SELECT FROM dispute_referees r WHERE r.player_id = p.player_id);
