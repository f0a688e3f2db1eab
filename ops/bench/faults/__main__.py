"""Run fault injection: `python -m ops.bench.faults --faults 10000`."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

from ops.bench.faults.results import load, page, save
from ops.bench.faults.run import RunPlan, run


def main() -> int:
    """Run until enough faults were injected or the time is up; return 1 if a check failed."""
    parser = argparse.ArgumentParser(prog="faults", description=__doc__)
    parser.add_argument("--faults", type=int, default=10_000, help="in all (10000)")
    parser.add_argument("--of-a-run", type=int, default=500, help="faults of one run (500)")
    parser.add_argument("--tables", type=int, default=8, help="played at the same time (8)")
    parser.add_argument(
        "--pairs",
        type=int,
        default=2,
        help="of players with webhooks, seeks, invitations, notes, tokens and disputes (2)",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=600, help="after which no run begins")
    parser.add_argument("--sums", type=Path, help="JSON file that accumulates results")
    parser.add_argument("--page", type=Path, help="where to write the table")
    parser.add_argument("--only", default="", help="of the grave faults only those that match")
    parser.add_argument("--least", type=int, default=20, help="of each grave fault (20)")
    parser.add_argument("--logs", type=Path, help="folder to keep the logs of the programs in")
    options = parser.parse_args()
    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(143)
    )  # so that all started programs are ended
    total = load(options.sums) if options.sums else load(Path("/nonexistent"))
    began = time.monotonic()
    while total.faults.total() < options.faults and time.monotonic() - began < options.minutes * 60:
        left = options.faults - total.faults.total()
        logs = options.logs and options.logs / f"run-{total.runs}"
        if logs:
            logs.mkdir(parents=True, exist_ok=True)
        done = run(
            RunPlan(
                faults=min(left, options.of_a_run),
                tables=options.tables,
                pairs=options.pairs,
                seed=options.seed + total.runs,
                only=options.only,
                least=options.least,
                before=total.faults,
                keep_logs=logs,
            )
        )
        total.add(done)
        print(
            f"run {total.runs}: {done.total} faults in {done.seconds:.0f} s,"
            f" {total.faults.total()} in all, {len(total.wrong)} findings",
            flush=True,
        )
        for finding in done.checked.wrong:
            print(f"  {finding}", flush=True)
        if options.sums:
            save(options.sums, total)
        if options.page:
            before = options.page.read_text() if options.page.exists() else ""
            options.page.write_text(page(total, before))
    return 1 if total.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
