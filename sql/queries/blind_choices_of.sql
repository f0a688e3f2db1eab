-- blind_choices_of: a player's choices among face-down cards, oldest first.
-- $1 player
SELECT game_id, seq, slots, playable, fitted
FROM blind_choices
WHERE player_id = $1::uuid
ORDER BY ended_at, game_id, seq
