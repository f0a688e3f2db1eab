"""The use cases: requests of people and operators, moves of bots, and steps that are due."""
