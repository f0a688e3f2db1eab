"""A fast model of the game for search: counts of ranks, without events."""
