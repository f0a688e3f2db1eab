"""`shithead witness`: cosign checkpoints of a public log that only grows."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from service.cli.service_options import log_selection

if TYPE_CHECKING:
    from service.public_log.log_client import LogClient, Poller
    from service.public_log.witness import Witness, WitnessState
    from service.shx.tlog.notes import NoteVerifier

REFUSED = 1
UNREACHABLE = 2
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
@click.option("--port", type=int, default=8081, show_default=True, help="Port for add-checkpoint.")
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
        with _only_one(state):
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
    polling = threading.Thread(target=_poll, args=(client, log_witness, every, poller), daemon=True)
    polling.start()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        return 0
    finally:
        server.server_close()
    return 0


def _poll(client: LogClient, log_witness: Witness, every: float, poller: Poller) -> None:
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


class _only_one:  # noqa: N801 - used like a function, as a context
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
