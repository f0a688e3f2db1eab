-- dispute_votes: the encrypted votes that are stored for the referees of a dispute.
-- $1 dispute
SELECT referee, key_id, sealed FROM dispute_votes WHERE dispute_id = $1::uuid
