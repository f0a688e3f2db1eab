-- dispute_texts: the texts of a dispute; null if the author was erased.
-- $1 dispute
SELECT seq, words, salt FROM dispute_texts WHERE dispute_id = $1::uuid ORDER BY seq
