"""Use cases: requests of players and operators, moves of bots, and scheduled actions."""
