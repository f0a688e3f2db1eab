-- When its game was dealt, beside each player: a page of a player's hands is read from an index.
--
-- The default is for a process of an earlier release that deals while this is applied: its function
-- names no time. Both times are milliseconds apart.
ALTER TABLE game_seats ADD COLUMN dealt_at timestamptz NOT NULL DEFAULT now();
UPDATE game_seats s SET dealt_at = g.created_at FROM games g WHERE g.game_id = s.game_id;
CREATE INDEX game_seats_by_player_and_age ON game_seats (player_id, dealt_at DESC, game_id DESC)
WHERE player_id IS NOT NULL;
DROP INDEX game_seats_by_player;
