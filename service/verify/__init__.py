"""The checks over a log or bundle, offline: no database, no network."""
