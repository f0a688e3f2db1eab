-- notes_of: the notes on a game that a reader may see, in the order of the events.
-- $1 game, $2 reader, $3 whether the reader sees the notes that are written for disputes
SELECT author, seq, words, visibility, at
FROM notes
WHERE game_id = $1::uuid AND (author = $2::uuid OR ($3::boolean AND visibility = 'dispute'))
ORDER BY seq, at, author
