"""What keeps the record over the years: backups, the way back, the check of all streams."""
