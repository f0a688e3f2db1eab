"""
Backup, restore, and the check of all stored streams.

`backup` (to a file and back), `check` (stored data against the events) and `check_attached` (data
beside the streams).
"""
