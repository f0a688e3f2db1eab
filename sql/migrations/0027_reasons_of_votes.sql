-- Reasons of votes that the server seals, encrypted like the vote until it is revealed.
--
-- Null in rows of earlier releases, and once the referee is erased. All have the same length, and a
-- vote without a reason has one too, so that a row does not reveal the vote.
ALTER TABLE dispute_votes ADD COLUMN reason_key_id text;
ALTER TABLE dispute_votes ADD COLUMN reason bytea;
