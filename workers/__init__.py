"""Processes beside the API: RQ workers that make moves, the relay, the sweeper."""
