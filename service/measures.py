"""
What Prometheus is told of games: moves, conflicts, the turns of bots, what is late or piles up.

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

ROUNDS = Gauge(
    "shithead_last_round_timestamp_seconds",
    "When relay, sweeper or sequencer last came round and nothing was in its way",
    ["process"],
    multiprocess_mode="mostrecent",
)
"""A process that is gone, or stands still, cannot say so; the time that stays behind does."""

OUTBOX_AGE = Gauge(
    "shithead_outbox_age_seconds",
    "Seconds for which the oldest row has waited to be told, 0 for none",
    ["topic"],
    multiprocess_mode="mostrecent",
)

UNSIGNED = Gauge(
    "shithead_log_unsigned_leaves",
    "Leaves of the public log that no signed checkpoint has yet",
    multiprocess_mode="mostrecent",
)

UNCOSIGNED = Gauge(
    "shithead_log_uncosigned_leaves",
    "Leaves of the newest checkpoint that a witness has not cosigned",
    ["witness"],
    multiprocess_mode="mostrecent",
)
"""Witnesses are those of the settings: operators choose their names, not callers."""
