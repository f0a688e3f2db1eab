"""`shithead monitor`: reads everything a public log has, and says what does not fit."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from service.public_log.monitor import Monitor

FOUND = 1
UNREACHABLE = 2


@click.command(short_help="Follow a public log and report what does not fit.")
@click.option("--log", "url", required=True, metavar="URL", help="The service's address.")
@click.option("--log-key", "log_keys", multiple=True, metavar="KEY", help="Its key, name+id+key.")
@click.option(
    "--state",
    type=click.Path(path_type=Path),
    default=Path("monitor.state"),
    show_default=True,
    help="What has been seen; keep it, or a changed past cannot be noticed.",
)
@click.option("--every", type=float, default=60.0, show_default=True, help="Seconds between looks.")
@click.option(
    "--unsealed-after",
    type=float,
    default=24.0,
    show_default=True,
    help="Hours without an event after which a game without a seal is reported.",
)
@click.option(
    "--remember",
    type=click.FloatRange(min=1),
    default=730.0,
    show_default=True,
    help="Days for which the last game of a table is remembered.",
)
@click.option("--once", is_flag=True, help="Look once and end.")
def monitor(
    url: str,
    log_keys: tuple[str, ...],
    state: Path,
    every: float,
    unsealed_after: float,
    remember: float,
    *,
    once: bool,
) -> int:
    """
    Read every entry of a log, and the public games behind the entries.

    \b
    A line is printed for each thing that does not fit, once:
      signature, rollback, fork, truncated  the log, or a game in it, has two histories
      leaf, order, twice, sealed            entries that should not be there
      events, withdrawn                     a game that cannot be read any more
      hands, commitment                     hands of a table missing or dealt twice
      unsealed                              a game that was never finished
    Signed checkpoints that contradict what was seen are kept beside the state: they
    are proof, which anybody can check.

    What it remembers is bounded: running games and those of the last 30 days, the last
    game of each table for --remember, and the first 1,000 findings. A table
    that wakes up after longer is reported: it cannot be told what came before.

    It cannot see into private tables: of these it checks the entries alone.

    Exit status with --once: 0 nothing was ever found, 1 something was (now or before),
    2 the log cannot be reached.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    from service.public_log.log_client import LogClient
    from service.public_log.monitor import Monitor, load_state, save_state
    from service.public_log.witness import keep_evidence
    from service.record.canonical import RecordError
    from service.record.notes import parse_verifier

    try:
        known = load_state(state)
        known.keys += [key for key in map(parse_verifier, log_keys) if key not in known.keys]
        watching = Monitor(
            LogClient(url),
            known,
            now=lambda: datetime.now(UTC),
            unsealed_after=timedelta(hours=unsealed_after),
            remember=timedelta(days=remember),
            keep=lambda note: click.echo(f"kept: {keep_evidence(state, note)}", err=True),
        )
    except RecordError as error:
        raise click.ClickException(error.detail) from None
    while True:
        reached = _look(watching)
        save_state(state, known)
        if once:
            if not reached:
                return UNREACHABLE
            return FOUND if known.findings else 0
        time.sleep(every)


def _look(watching: Monitor) -> bool:
    """Look once, print what is new, and return whether the log could be read."""
    from service.public_log.log_client import Unreachable

    told, reached = len(watching.state.findings), True
    try:
        watching.look()
    except Unreachable as error:
        click.echo(f"cannot be read: {error}", err=True)
        reached = False
    for said in watching.state.findings[told:]:
        click.echo("".join(c if c.isprintable() else "\ufffd" for c in said))
    state = watching.state
    if state.more:
        click.echo("there are more findings than are kept")
    click.echo(f"{state.edge.size} leaves, {len(state.games)} games remembered", err=True)
    return reached
