"""
A fast model of the game for search: counts of ranks, without events.

In the order in which to read: `rules` (a ruleset as integers), `state`, `playout`, `flat` and
`tree` (two searches). `intervals` of shares.
"""
