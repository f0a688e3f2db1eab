"""Environments for learning programs; they need the extra `rl`."""
