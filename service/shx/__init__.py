"""
SHX/1, the verifiable record of a game: bytes, hashes, chain, signatures, bundles.

In the order in which to read: `canonical` (JSON and hashes), `validators` (shapes of values),
`event_shapes` (the table of all event types), `chain` (events to bytes and back), `shuffle`;
`moves` (signed by seats), `curve`, `keys`, `receipts` and `restores` (signed by the server);
`archives` and `bundle` (evidence as a file); `tar_files`, `dumps` and `dump_series` (months in
files); `tlog` (formats of the public log) and `time_stamps` (of its checkpoints).
"""
