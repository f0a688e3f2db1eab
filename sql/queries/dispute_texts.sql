-- dispute_texts: what was said in a dispute; words are null where their author was erased.
-- $1 dispute
SELECT seq, words, salt FROM dispute_texts WHERE dispute_id = $1::uuid ORDER BY seq
