-- A reading by whoever held the invite to a private table and showed no token.
ALTER TABLE readings ALTER COLUMN reader DROP NOT NULL;
