"""Backup, restore, and the check of all stored streams."""
