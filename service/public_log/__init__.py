"""
The public log: sequencer, witnesses and monitors.

In the order in which to read: `log` (the published part), `signed_checkpoints`, `sequencer`,
`witness_client`, `time_stamps`, `reread` (what is stored, checked again); outside the service:
`log_client`, `witness` and `monitor`.
"""
