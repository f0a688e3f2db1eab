"""Append and read: the promises, and how PostgreSQL and memory keep them."""
