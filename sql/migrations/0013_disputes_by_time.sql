-- Disputes by time: the list of all disputes is read newest first.
CREATE INDEX disputes_by_time ON disputes (opened_at DESC, dispute_id DESC);
