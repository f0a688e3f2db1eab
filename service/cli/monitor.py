"""`shithead monitor`: verify a public log continuously."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from service.cli.service_options import log_selection

if TYPE_CHECKING:
    from service.public_log.log_client import Poller
    from service.public_log.monitor import Expected, Monitor, MonitorState

FOUND = 1
UNREACHABLE = 2


@click.command(short_help="Verify a public log continuously and report faults.")
@log_selection
@click.option(
    "--state",
    type=click.Path(path_type=Path),
    default=Path("monitor.state"),
    show_default=True,
    help="File of earlier observations; without it, changes of the past are not detected.",
)
@click.option("--every", type=float, default=60.0, show_default=True, help="Seconds between polls.")
@click.option(
    "--unsealed-after",
    type=float,
    default=24.0,
    show_default=True,
    help="Hours without an event after which an unsealed game is reported.",
)
@click.option(
    "--remember",
    type=click.FloatRange(min=1),
    default=730.0,
    show_default=True,
    help="Days for which the last game of a table is remembered.",
)
@click.option(
    "--fresh-within",
    type=click.FloatRange(min=0),
    default=72.0,
    show_default=True,
    help="Hours after which a log that has not grown is reported; 0: never.",
)
@click.option(
    "--witness-key",
    "witness_keys",
    multiple=True,
    metavar="KEY",
    help="The key of a witness, name+id+key; can be repeated.",
)
@click.option(
    "--witnesses",
    "quorum",
    type=click.IntRange(min=1),
    help="How many of these witnesses must cosign.  [default: all]",
)
@click.option(
    "--cosigned-within",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    help="Minutes after which missing cosignatures are reported.",
)
@click.option(
    "--health-port", type=int, help="Serve /healthz on 127.0.0.1 at this port; 0: any free port."
)
@click.option("--once", is_flag=True, help="Poll once and exit.")
def monitor(
    url: str,
    log_keys: tuple[str, ...],
    state: Path,
    every: float,
    unsealed_after: float,
    remember: float,
    fresh_within: float,
    witness_keys: tuple[str, ...],
    quorum: int | None,
    cosigned_within: float,
    health_port: int | None,
    *,
    once: bool,
) -> int:
    """
    Read every entry of a log, and the public games it names, and verify them.

    \b
    One line is printed for each finding:
      signature, rollback, fork, truncated  the log, or a game in it, has two histories
      leaf, order, twice, sealed            invalid entries
      events, withdrawn                     a game that can no longer be read
      hands, commitment                     hands of a table missing or dealt twice
      unsealed                              a game without events for --unsealed-after
      stale                                 the log has not grown for too long, or does
                                            not contain a game that the service lists
      cosignatures                          with --witness-key: too few, or invalid
    Signed checkpoints that contradict each other are saved beside the state, as evidence
    that anybody can verify.

    Its memory is bounded: running games and those of the last 30 days, the last game of
    each table for --remember days, and the first 1,000 findings. A hand of a table that is
    no longer remembered is reported, because its predecessor is unknown.

    Of private tables only the entries are checked. An idle log cannot be distinguished
    from one that is withheld: see --fresh-within.

    A replaced key is valid until its end date, which the newest key signs. Failed polls
    are reported and repeated at the next interval; with --health-port, `/healthz` returns
    503 if no poll has succeeded for five intervals (at least 300 s).

    Exit status with --once: 0 no findings so far, 1 there are findings (now or before),
    2 the log cannot be reached.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    from service.public_log.monitor import load_state
    from service.shx.canonical import RecordError

    try:
        known = load_state(state)
        expected = _expected(fresh_within, witness_keys, quorum, cosigned_within)
        spans = timedelta(hours=unsealed_after), timedelta(days=remember)
        log_monitor = _monitor(url, log_keys, state, known, expected, spans)
    except RecordError as error:
        raise click.ClickException(error.detail) from None
    if once:
        reached = _poller(every, None).run(lambda: _poll(log_monitor, state))
        if not reached:
            return UNREACHABLE
        return FOUND if known.findings else 0
    poller = _poller(every, health_port)
    while True:
        poller.run(lambda: _poll(log_monitor, state))
        time.sleep(every)


def _expected(
    fresh_within: float, witness_keys: tuple[str, ...], quorum: int | None, cosigned_within: float
) -> Expected:
    from service.public_log.monitor import Expected
    from service.shx.tlog.checkpoint import parse_cosigner

    keys = [parse_cosigner(key) for key in witness_keys]
    if quorum is not None and quorum > len(keys):
        raise click.ClickException(f"--witnesses {quorum} exceeds the number of keys, {len(keys)}")
    return Expected(
        fresh_within=timedelta(hours=fresh_within) if fresh_within else None,
        witnesses=keys,
        quorum=quorum,
        cosigned_within=timedelta(minutes=cosigned_within),
    )


def _monitor(
    url: str,
    log_keys: tuple[str, ...],
    state: Path,
    known: MonitorState,
    expected: Expected,
    spans: tuple[timedelta, timedelta],
) -> Monitor:
    from service.public_log.log_client import LogClient
    from service.public_log.monitor import Monitor
    from service.public_log.witness import save_evidence
    from service.shx.tlog.notes import parse_verifier

    saved = set[Path]()

    def save(note: bytes) -> None:
        path = save_evidence(state, note)
        if path not in saved:
            click.echo(f"saved: {path}", err=True)
            saved.add(path)

    known.keys += [key for key in map(parse_verifier, log_keys) if key not in known.keys]
    return Monitor(
        LogClient(url),
        known,
        now=lambda: datetime.now(UTC),
        unsealed_after=spans[0],
        remember=spans[1],
        keep=save,
        expected=expected,
    )


def _poller(every: float, health_port: int | None) -> Poller:
    """Return a poller, and serve its health if a port is set."""
    from service.public_log.log_client import Poller, health_server

    def print_line(line: str) -> None:
        click.echo(line, err=True)

    poller = Poller(every=every, report=print_line)
    if health_port is not None:
        server = health_server(poller, "127.0.0.1", health_port)
        print_line(f"health  http://127.0.0.1:{server.server_address[1]}/healthz")
        threading.Thread(target=server.serve_forever, daemon=True).start()
    return poller


def _poll(log_monitor: Monitor, state: Path) -> None:
    """Poll once, print new findings, and save the state even if the poll failed."""
    from service.public_log.monitor import save_state

    known = log_monitor.state
    before = len(known.findings)
    try:
        log_monitor.poll()
    finally:
        for finding in known.findings[before:]:
            click.echo("".join(c if c.isprintable() else "\ufffd" for c in finding))
        if known.more:
            click.echo("there are further findings, which are not saved", err=True)
        click.echo(f"{known.edge.size} leaves, {len(known.games)} games remembered", err=True)
        save_state(state, known)
