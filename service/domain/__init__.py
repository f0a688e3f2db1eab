"""The rules of the game as pure functions on commands, events and states."""
