"""
The checks over a log or bundle, offline: no database, no network.

In the order in which to read: `finding` (checks and their results), `log` (what is verified),
`evidence` (what comes from outside), then the checks: `integrity`, `receipts`, `signatures`,
`shuffle`, `custody` with `card_tracker`, `legality` with `without_deck`, `sequence` with
`log_summary`, `anchoring`; `verify` runs them. What is printed: `report`, `claims`, `clauses`,
`substitution` and `summary`; `files` verifies files for the command, each as in `file_work`,
`dump` those of a month; `stored_findings` has those of disputes.
"""
