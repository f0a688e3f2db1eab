"""A fast model of the game for search: ranks and counts instead of cards and events."""
