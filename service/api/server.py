"""
The parent of the API or stream processes: granian, which also replaces processes that hang.

    python -m service.api.server NAME SECONDS [options of granian] service.api.wsgi:calls

NAME is the label in metrics; a process without a sign of life for SECONDS is killed.
"""

from __future__ import annotations

import multiprocessing
import sys

from granian.cli import entrypoint

from service.runtime.heartbeat import watch_processes
from service.runtime.telemetry import follow_log_file


def main() -> None:
    """Run granian with the arguments of this process."""
    name, seconds, *arguments = sys.argv[1:]
    if sys.platform.startswith("linux"):
        # Python 3.14 spawns by default; a spawned process would not have the pipe of the watch.
        multiprocessing.set_start_method("fork", force=True)
    follow_log_file()  # each process that it forks follows the file by itself
    watch_processes(name, seconds=float(seconds))
    sys.argv = ["granian", *arguments]
    entrypoint()  # type: ignore[no-untyped-call] # the library has no type here


if __name__ == "__main__":
    main()
