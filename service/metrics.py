"""Prometheus metrics shared by all processes of the service."""

from __future__ import annotations

from prometheus_client import Counter, Gauge

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names the folder of metrics shared by all processes."""

MOVES = Counter("shithead_moves", "Changes of games that were committed", ["by"])
"""By `player`, or by `server`: bots, time-outs, abandoned set-ups."""

CONFLICTS = Counter("shithead_conflicts", "Changes decided on an outdated version", ["by"])
"""A player's change is decided again; the server's is dropped."""

TURNS = Counter("shithead_due_moves", "Due moves played by workers", ["kind"])

JOBS = Counter("shithead_turn_jobs", "Jobs that play due moves, by outcome", ["outcome"])

SWEEPER_LAG = Gauge(
    "shithead_sweeper_lag_seconds",
    "Seconds for which the most overdue game was due at the last sweep, 0 for none",
    multiprocess_mode="mostrecent",
)

ROUNDS = Gauge(
    "shithead_last_round_timestamp_seconds",
    "Time of the last successful round of relay, sweeper or sequencer",
    ["process"],
    multiprocess_mode="mostrecent",
)
"""A stopped process cannot report that it stopped, but an old timestamp shows it."""

OUTBOX_AGE = Gauge(
    "shithead_outbox_age_seconds",
    "Seconds for which the oldest outbox row has waited, 0 for none",
    ["topic"],
    multiprocess_mode="mostrecent",
)

DATABASE_SLOW = Gauge(
    "shithead_database_slow_timestamp_seconds",
    "Time of the last request that timed out at the database, 0 for never",
    multiprocess_mode="mostrecent",
)

REPLICA_READS = Counter(
    "shithead_replica_reads", "Reads allowed on a replica, by what answered them", ["outcome"]
)
"""`replica`; `behind` and `failed`: the primary answered instead."""

QUEUED = Gauge(
    "shithead_queued_jobs", "Jobs that wait for a worker", multiprocess_mode="mostrecent"
)
"""Not set while Redis does not answer: then it shows the last count."""

UNSIGNED = Gauge(
    "shithead_log_unsigned_leaves",
    "Leaves of the public log that no signed checkpoint covers",
    multiprocess_mode="mostrecent",
)

UNCOSIGNED = Gauge(
    "shithead_log_uncosigned_leaves",
    "Leaves of the newest checkpoint that a witness has not cosigned",
    ["witness"],
    multiprocess_mode="mostrecent",
)
"""Labels are the witnesses of the settings, never values sent by callers."""
