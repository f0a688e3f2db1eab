"""The rules of the game, pure: commands, events, state, and the functions between them."""
