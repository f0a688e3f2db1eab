"""Run the service on simulated machines: `python -m ops.bench.scale processes --page FILE`."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
from pathlib import Path

from ops.bench.scale.report import Size, page
from ops.bench.scale.scenarios import SCENARIOS


def main() -> int:
    """Run a scenario, which needs root, and report on it; return 1 if a check failed."""
    parser = argparse.ArgumentParser(prog="scale", description=__doc__)
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("--seconds", type=float, default=Size().seconds, help="under load (120)")
    parser.add_argument("--tables", type=int, default=Size().tables, help="at play at a time (10)")
    parser.add_argument("--readers", type=int, default=Size().readers, help="live readers (6)")
    parser.add_argument("--seed", type=int, default=Size().seed)
    parser.add_argument("--page", type=Path, help="file for the report, else it is printed")
    parser.add_argument("--logs", type=Path, help="folder to keep the logs of all programs in")
    options = parser.parse_args()
    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(143)
    )  # so that all started programs are ended
    size = Size(
        seconds=options.seconds, tables=options.tables, readers=options.readers, seed=options.seed
    )
    report = SCENARIOS[options.scenario](size, options.logs)
    words = ["python", "-m", "ops.bench.scale", options.scenario]
    words += ["--seconds", f"{size.seconds:g}", "--tables", str(size.tables)]
    text = page(report, shlex.join([*words, "--readers", str(size.readers)]))
    if options.page:
        options.page.write_text(text)
    else:
        print(text)
    for finding in report.checked.wrong:
        print(f"  {finding}", flush=True)
    return 1 if report.checked.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
