-- dispute_votes: the encrypted votes, with their reasons, that are stored for the referees of a dispute.
-- $1 dispute
SELECT referee, key_id, sealed, reason_key_id, reason FROM dispute_votes WHERE dispute_id = $1::uuid
