"""
The parent of the API or stream processes: granian, which also replaces processes that hang.

    python -m service.api.server NAME SECONDS START [options of granian] service.wsgi:calls

NAME is the label in metrics. A process without a sign of life for SECONDS is killed, and a new one
without any for START seconds.
"""

from __future__ import annotations

import multiprocessing
import sys

from granian.cli import entrypoint

from service.runtime.config import ConfigError, settings_from
from service.runtime.heartbeat import watch_processes
from service.runtime.telemetry import configure_logs


def main() -> None:
    """Run granian with the arguments of this process; exits with 1 if a setting is invalid."""
    name, seconds, start, *arguments = sys.argv[1:]
    try:
        configure_logs(settings_from())  # each process that it forks does so again by itself
    except ConfigError as error:
        sys.exit(str(error))
    if sys.platform.startswith("linux"):
        # Python 3.14 spawns by default; a spawned process would not have the pipe of the watch.
        multiprocessing.set_start_method("fork", force=True)
    watch_processes(name, seconds=float(seconds), start_seconds=float(start))
    sys.argv = ["granian", *arguments]
    entrypoint()  # type: ignore[no-untyped-call] # the library has no type here


if __name__ == "__main__":
    main()
