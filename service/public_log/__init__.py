"""The public log: its sequencer, its tiles and proofs, and those who watch it from outside."""
