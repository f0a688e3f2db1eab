"""Audits of one move, one card or one seat, and statistics over games."""
