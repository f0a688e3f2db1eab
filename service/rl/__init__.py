"""Environments for reinforcement learning; they need the extra `rl` or `openspiel`."""
