"""Fault injection in a running service under load, and the checks after it."""
