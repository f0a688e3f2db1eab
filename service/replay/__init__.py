"""A game seen again: what was stored, step by step, in words and as text; no database."""
