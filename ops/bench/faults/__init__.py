"""Faults done to a running service under load, and what has to hold afterwards."""
