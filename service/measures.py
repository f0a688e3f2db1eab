"""
What Prometheus is told of games: moves, conflicts, the turns of bots, how late the sweeper is.

Every process counts for itself; where they share a folder the API tells the sum. No label
grows with players, games or anything that a caller chooses.
"""

from __future__ import annotations

from prometheus_client import Counter, Gauge

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names the folder where the processes of one service add up."""

MOVES = Counter("shithead_moves", "Changes of games that were committed", ["by"])
"""By `player`, or by `server`: bots, time-outs, a set-up that is given up."""

CONFLICTS = Counter("shithead_conflicts", "Changes decided upon a version that had passed", ["by"])
"""A player's is decided again, the server's is left to whoever came first."""

TURNS = Counter("shithead_due_moves", "Moves that workers made because they were due", ["kind"])

JOBS = Counter("shithead_turn_jobs", "Jobs that make due moves, by how they ended", ["outcome"])

SWEEPER_LAG = Gauge(
    "shithead_sweeper_lag_seconds",
    "Seconds for which the longest waiting game has been due at the last look, 0 for none",
    multiprocess_mode="mostrecent",
)
