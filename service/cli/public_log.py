"""`shithead monitor` and `witness`: verify a public log, cosign its checkpoints."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from service.cli.service_options import log_selection

if TYPE_CHECKING:
    from service.public_log.log_client import LogClient, Poller
    from service.public_log.monitor import Expected, Monitor, MonitorState
    from service.public_log.witness import Witness, WitnessState
    from service.shx.tlog.notes import NoteVerifier

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
      damaged                               a stored entry is not the one that was signed
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
        reached = _poller(every, None).run(lambda: _poll_service(log_monitor, state))
        if not reached:
            return UNREACHABLE
        return FOUND if known.findings else 0
    poller = _poller(every, health_port)
    while True:
        poller.run(lambda: _poll_service(log_monitor, state))
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


def _poll_service(log_monitor: Monitor, state: Path) -> None:
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


REFUSED = 1
KEYS_EVERY = 60.0
"""Seconds between two reads of the log's keys if the witness does not poll the log."""


@click.command(short_help="Watch a public log and cosign it while it only grows.")
@log_selection
@click.option(
    "--name", help="The name of a new witness, such as witness.example/1; it can never be changed."
)
@click.option(
    "--key",
    "key_file",
    type=click.Path(path_type=Path),
    default=Path("witness.key"),
    show_default=True,
    help="The witness's private key; created if missing.",
)
@click.option(
    "--state",
    type=click.Path(path_type=Path),
    default=Path("witness.state"),
    show_default=True,
    help="The trees that it has cosigned. It cannot continue without this file: back it up.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=int, default=8081, show_default=True, help="Port to listen on.")
@click.option(
    "--every",
    type=float,
    default=60.0,
    show_default=True,
    help="Seconds between polls of the log; 0: poll its keys only.",
)
@click.option("--once", is_flag=True, help="Poll once, print the cosigned checkpoint, and exit.")
@click.option(
    "--new", is_flag=True, help="Start a new state for a key whose state is lost; see below."
)
def witness(
    url: str,
    log_keys: tuple[str, ...],
    name: str | None,
    key_file: Path,
    state: Path,
    host: str,
    port: int,
    every: float,
    *,
    once: bool,
    new: bool,
) -> int:
    """
    Run a witness (C2SP tlog-witness), which cosigns a checkpoint of the log only if it
    extends the tree that the witness cosigned before. An operator who changes past entries,
    or shows different logs to different readers, gets no cosignature.

    The witness prints its public key. The operator of the log adds the key, with the
    address of this witness, to SHITHEAD_WITNESSES; verifiers pass it to `shithead verify
    --witness-key`. Pass --log-key with a key that you did not get from the service;
    without it, the keys that the service lists at the first contact are trusted. Later
    keys must be signed by trusted keys. No checkpoint is cosigned after the signed end
    date of its key.

    A key without its state is refused, because the witness could cosign a second tree.
    Restore the state, or start another witness with another key. --new starts with an
    empty state under the same key.

    `GET /healthz` returns 200 while the polls succeed; `GET /HASH/checkpoint` returns the
    newest cosigned checkpoint, where HASH is the SHA-256 of the log's origin.

    Exit status: 0 after Ctrl-C, or with --once if it cosigned; 1 with --once if it
    refused, or the state is missing; 2 the log cannot be reached or read.
    """
    from service.public_log.log_client import LogClient, Unreachable
    from service.shx.canonical import RecordError
    from service.shx.tlog.notes import parse_verifier

    try:
        client, trusted = LogClient(url), [parse_verifier(key) for key in log_keys]
        with _StateLock(state):
            log_witness = _witness(client, key_file, name, state, trusted, new=new)
            if once:
                return _once(client, log_witness)
            return _serve(client, log_witness, host, port, every)
    except RecordError as error:
        raise click.ClickException(error.detail) from None
    except Unreachable as error:
        click.echo(f"the log cannot be read: {error}", err=True)
        return UNREACHABLE


def _witness(
    client: LogClient,
    key_file: Path,
    name: str | None,
    state: Path,
    trusted: list[NoteVerifier],
    *,
    new: bool,
) -> Witness:
    from service.public_log.witness import Witness, load_cosigner

    stored = _state(key_file, state, new=new)
    logs = _log_keys(client, trusted, stored)
    cosigner = load_cosigner(key_file, name)
    if stored is None:
        stored = _new_state(state)
    click.echo(f"witness  {cosigner.verifier}", err=True)
    for origin in logs:
        click.echo(f"log      {origin}", err=True)
    log_witness = Witness(
        cosigner=cosigner,
        logs=logs,
        state=stored,
        now=time.time,
        report=lambda line: click.echo(line, err=True),
    )
    _learn(client, log_witness)
    return log_witness


def _state(key_file: Path, state: Path, *, new: bool) -> WitnessState | None:
    """Return the state of a witness, None for a new one; raises ClickException if it is lost."""
    from service.public_log.witness import WitnessState

    if state.exists():
        if new:
            raise click.ClickException(f"{state} already exists: leave out --new")
        return WitnessState(state)
    if key_file.exists() and not new:
        raise click.ClickException(
            f"{state} does not exist, but {key_file} does: without its state this witness could "
            "cosign a second tree. Restore the state, or start another witness with another "
            "--key and --state; --new starts with an empty state under this key"
        )
    return None


def _new_state(state: Path) -> WitnessState:
    from service.public_log.witness import WitnessState

    try:
        return WitnessState.begin(state)
    except OSError as error:
        raise click.ClickException(f"{state} cannot be written: {error.strerror}") from None


def _log_keys(
    client: LogClient, trusted: list[NoteVerifier], stored: WitnessState | None
) -> dict[str, list[NoteVerifier]]:
    """Return the trusted keys by origin: from the options or the state, else from the log."""
    from service.shx.keys import is_over

    listed = client.key_list().keys
    names = {key.verifier.name for key in listed} | {key.name for key in trusted}
    known = [key.verifier for key in (stored.log_keys() if stored else ())]
    keys = list(dict.fromkeys([*trusted, *(key for key in known if key.name in names)]))
    if not keys:
        now = datetime.now(UTC)
        keys = [k.verifier for k in listed if k.until is None or not is_over(k.until, now)]
    return {key.name: [k for k in keys if k.name == key.name] for key in keys}


def _learn(client: LogClient, log_witness: Witness) -> None:
    from service.public_log.witness import learn_keys

    learn_keys(client, log_witness)
    if not log_witness.keys():
        raise click.ClickException("every known key of this log is retired: see --log-key")


def _once(client: LogClient, log_witness: Witness) -> int:
    from service.public_log.witness import follow

    note, answer = follow(client, log_witness)
    if answer.status != 200:
        click.echo(f"not cosigned: {answer.body.decode().strip()}", err=True)
        return REFUSED
    click.echo((note + answer.body).decode(), nl=False)
    return 0


def _serve(client: LogClient, log_witness: Witness, host: str, port: int, every: float) -> int:
    from service.public_log.log_client import Poller
    from service.public_log.witness import witness_server

    poller = Poller(every=every or KEYS_EVERY, report=lambda line: click.echo(line, err=True))
    server = witness_server(log_witness, host, port, poller)
    click.echo(f"ready    http://{host}:{server.server_address[1]}", err=True)
    polling = threading.Thread(
        target=_poll_log, args=(client, log_witness, every, poller), daemon=True
    )
    polling.start()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        return 0
    finally:
        server.server_close()
    return 0


def _poll_log(client: LogClient, log_witness: Witness, every: float, poller: Poller) -> None:
    """
    Poll at intervals, because a log may stop sending checkpoints to its witnesses.

    With an interval of 0 only the keys are read, because one of them may be retired.
    """
    from service.public_log.witness import follow, learn_keys

    def poll() -> None:
        learn_keys(client, log_witness)
        if every <= 0:
            return
        _, answer = follow(client, log_witness)
        if answer.status not in (200, 409):
            click.echo(f"REFUSED: {answer.body.decode().strip()}", err=True)

    while True:
        poller.run(poll)
        time.sleep(every if every > 0 else KEYS_EVERY)


class _StateLock:
    """Locks the state: two processes with the same state could cosign two different trees."""

    def __init__(self, state: Path) -> None:
        self._path = state.with_name(f"{state.name}.lock")

    def __enter__(self) -> None:
        import fcntl

        self._file = self._path.open("a")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise click.ClickException(f"{self._path}: another witness uses this state") from None

    def __exit__(self, *_: object) -> None:
        self._file.close()
