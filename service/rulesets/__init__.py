"""
Rulesets: TOML files with base, settings, options and statements, and their readers.

In the order in which to read: `catalogue` (all rulesets and their options), `statements` (the
sentences behind settings), `custom` (rulesets of players), `validation` and `without_effect` (what
they refuse), `labels` (settings in words), `spoken_of`, `in_short` and `rules_page` (a ruleset
as its players read it).
"""
