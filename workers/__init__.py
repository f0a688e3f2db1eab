"""Processes beside the API: RQ workers, the relay, the sweeper and the sequencer."""
