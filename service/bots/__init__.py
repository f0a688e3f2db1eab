"""Bots: each sees the view of its seat and its legal moves, nothing else."""
