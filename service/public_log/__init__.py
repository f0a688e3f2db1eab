"""The public log: sequencer, witnesses and monitors."""
