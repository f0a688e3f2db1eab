-- Erasures by time: the list of them that is kept outside the database reads the newest ones.
CREATE INDEX players_erased ON players (erased_at) WHERE erased_at IS NOT NULL;
