"""`shithead witness`: cosigns a public log, as long as it only grows."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from service.public_log.log_client import LogClient
    from service.public_log.witness import Witness
    from service.record.notes import NoteVerifier

REFUSED = 1
UNREACHABLE = 2


@click.command(short_help="Watch a public log and cosign it while it only grows.")
@click.option("--log", "url", required=True, metavar="URL", help="The service's address.")
@click.option("--log-key", "log_keys", multiple=True, metavar="KEY", help="Its key, name+id+key.")
@click.option("--name", help="Of a new witness, such as witness.example/1; it never changes.")
@click.option(
    "--key",
    "key_file",
    type=click.Path(path_type=Path),
    default=Path("witness.key"),
    show_default=True,
    help="The witness's private key, made if it is not there.",
)
@click.option(
    "--state",
    type=click.Path(path_type=Path),
    default=Path("witness.state"),
    show_default=True,
    help="What it has seen. Without it a witness is worth nothing: back it up with care.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="To listen on.")
@click.option("--port", type=int, default=8081, show_default=True, help="For add-checkpoint.")
@click.option(
    "--every",
    type=float,
    default=60.0,
    show_default=True,
    help="Seconds between own looks; 0: none.",
)
@click.option("--once", is_flag=True, help="Look once, print the cosigned checkpoint, and end.")
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
) -> int:
    """
    Run a witness (C2SP tlog-witness): it cosigns a checkpoint of the log only if the
    tree it cosigned before is its beginning. An operator who shows different people
    different logs, or changes the past, gets no cosignature for it.

    It prints its key, which the log's operator sets in SHITHEAD_WITNESSES together
    with the address where this witness is reached, and which verifiers are given
    with `shithead verify --witness-key`. Give --log-key, with a key that you got from
    somebody else than the service; without it the keys that the service lists now
    are believed.

    Exit status: 0 after Ctrl-C, or with --once where it cosigned; 1 with --once where
    it refused; 2 the log cannot be reached or read.
    """
    from service.public_log.log_client import LogClient, Unreachable
    from service.record.canonical import RecordError
    from service.record.notes import parse_verifier

    try:
        client = LogClient(url)
        keys = client.keys([parse_verifier(key) for key in log_keys])
        with _only_one(state):
            watching = _witness(key_file, name, state, keys)
            if once:
                return _once(client, watching)
            return _serve(client, watching, host, port, every)
    except RecordError as error:
        raise click.ClickException(error.detail) from None
    except Unreachable as error:
        click.echo(f"the log cannot be read: {error}", err=True)
        return UNREACHABLE


def _witness(key_file: Path, name: str | None, state: Path, keys: list[NoteVerifier]) -> Witness:
    from service.public_log.witness import Witness, WitnessState, load_cosigner

    cosigner = load_cosigner(key_file, name)
    logs = {key.name: [k for k in keys if k.name == key.name] for key in keys}
    click.echo(f"witness  {cosigner.verifier}", err=True)
    for origin in logs:
        click.echo(f"log      {origin}", err=True)
    return Witness(
        cosigner=cosigner,
        logs=logs,
        state=WitnessState(state),
        now=time.time,
        tell=lambda said: click.echo(said, err=True),
    )


def _once(client: LogClient, watching: Witness) -> int:
    from service.public_log.following import follow

    note, answer = follow(client, watching)
    if answer.status != 200:
        click.echo(f"not cosigned: {answer.body.decode().strip()}", err=True)
        return REFUSED
    click.echo((note + answer.body).decode(), nl=False)
    return 0


def _serve(client: LogClient, watching: Witness, host: str, port: int, every: float) -> int:
    from service.public_log.witness_server import witness_server

    server = witness_server(watching, host, port)
    click.echo(f"ready    http://{host}:{server.server_address[1]}", err=True)
    if every > 0:
        looking = threading.Thread(target=_look, args=(client, watching, every), daemon=True)
        looking.start()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        return 0
    finally:
        server.server_close()
    return 0


def _look(client: LogClient, watching: Witness, every: float) -> None:
    """Look at intervals: a log that stops asking its witnesses is noticed all the same."""
    from service.public_log.following import follow
    from service.public_log.log_client import Unreachable

    while True:
        try:
            watching.learn(client.keys(watching.keys()))
            _, answer = follow(client, watching)
            if answer.status not in (200, 409):
                click.echo(f"REFUSED: {answer.body.decode().strip()}", err=True)
        except Unreachable as error:
            click.echo(f"the log cannot be read: {error}", err=True)
        time.sleep(every)


class _only_one:  # noqa: N801 - used like a function, as a context
    """Hold the state's lock: two witnesses on one state could cosign two trees."""

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
