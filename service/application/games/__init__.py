"""
Use cases of games: a move and its commit, reads, evidence, bots and clocks.

In the order in which to read: `record` (a folded game), `entry` and `cache` (kept in the process),
`moves`, `signatures`, `commits`, `refused_moves`; `schedule` and `due_moves` (bots and time-outs),
`entropy`; `absences` (who is away); `lost_moves` (after a restore); `queries` (reads),
`pictures` (as PNG), `hands` (in bulk), `evidence`, `uploads`, `audits`, `what_if`, `event_notes`.
"""
