"""The game itself, pure: what may be done, what it does, and what follows from it."""
