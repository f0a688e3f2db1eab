#!/usr/bin/env python3
"""
Instructions of a view and a move, counted by Valgrind: python -m ops.bench.instructions.

The application is called in one thread, over a PostgreSQL and a Valkey of its own, and counted by
callgrind (Debian: `apt-get install valgrind`); then the bare application of `bare_view`. On a
machine with other work, counts of two runs differ by 1 %, where times differ by half. Instructions
of PostgreSQL, Valkey, the server program and the kernel are not counted.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import psycopg

from ops.bench import bare_view
from ops.bench.services import durable_postgres
from tests import servers

Application = Callable[..., Iterable[bytes]]

WARM_UP = 40
"""Moves before the counted ones, so that statements are prepared and caches are filled."""

UNLIMITED = 10**9
_COLLECTED = re.compile(r"Collected : (\d+)")


def main() -> None:
    """Count both applications and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int, default=400)
    parser.add_argument("--child", choices=("ours", "bare"), help="used by this program itself")
    options = parser.parse_args()
    if options.child is not None:
        steps = {"ours": _play, "bare": _ask_bare}[options.child]()
        _counted(steps, options.moves)
    if shutil.which("valgrind") is None:
        sys.exit("Valgrind is not installed: apt-get install valgrind")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        postgres = stack.enter_context(durable_postgres(Path(folder)))
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            connection.execute(bare_view.SCHEMA)
        redis_url = stack.enter_context(servers.valkey(Path(folder) / "valkey"))
        environment = _environment(postgres.url, redis_url, Path(folder))
        counts = {
            name: _count(name, options.moves, environment, Path(folder))
            for name in ("ours", "bare")
        }
    print("| a view and a move | million instructions |\n| --- | --- |")
    for name, count in counts.items():
        print(f"| {name} | {count / 1e6:.2f} |")
    print(f"| ratio | {counts['ours'] / counts['bare']:.2f} |")


def _environment(url: str, redis_url: str, folder: Path) -> dict[str, str]:
    """Return the environment of the children: the settings of a service, and of the bare one."""
    from service.keys import Keyring
    from service.local.programs import environment_of
    from service.runtime.config import Settings
    from service.runtime.telemetry import SHARED_FOLDER

    settings = Settings(
        database_url=url,
        redis_url=redis_url,
        keys=Keyring.generate().to_text(),
        origin="bench.example",
        calls_per_token=UNLIMITED,
        calls_per_address=UNLIMITED,
        statement_seconds=100,  # Valgrind makes everything fifty times slower
    )
    metrics = {SHARED_FOLDER: tempfile.mkdtemp(dir=folder), bare_view.ADDRESS: url}
    return {**os.environ, **environment_of(settings), **metrics, "PYTHONHASHSEED": "1"}


def _count(name: str, moves: int, environment: dict[str, str], folder: Path) -> float:
    """Return the instructions of one view and one move of an application, in a child."""
    command = [
        *("valgrind", "--tool=callgrind", "--instr-atstart=no"),
        f"--callgrind-out-file={folder / name}",
        *(sys.executable, "-m", "ops.bench.instructions"),
        *("--child", name, "--moves", str(moves)),
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    found = _COLLECTED.search(done.stderr)
    if done.returncode or found is None:
        sys.exit(f"{name} failed:\n{done.stderr[-2000:]}")
    return int(found[1]) / moves


def _counted(steps: Callable[[int], None], moves: int) -> None:
    """Let callgrind count these moves, and end this process without counting its end."""
    steps(WARM_UP)
    switch = ["callgrind_control", "-i", "on", str(os.getpid())]
    subprocess.run(switch, check=True, stdout=subprocess.DEVNULL)
    steps(moves)
    switch[2] = "off"
    subprocess.run(switch, check=True, stdout=subprocess.DEVNULL)
    os._exit(0)


def _play() -> Callable[[int], None]:
    """Return a function that makes moves at a table of two seats, with a view before each."""
    from service import wsgi

    app = wsgi.calls()
    tokens = [_call(app, "POST", "/v1/players", {"name": f"P{seat}"})["token"] for seat in (0, 1)]
    opened = {"ruleset": "shithead", "seats": ["me", "open"], "window_seconds": 0}
    table = f"/v1/tables/{_call(app, 'POST', '/v1/tables', opened, token=tokens[0])['id']}"
    game, seat = _call(app, "POST", f"{table}/seats", {}, token=tokens[1])["game"], 0

    def steps(moves: int) -> None:
        nonlocal game, seat
        done = 0
        while done < moves:
            path = f"/v1/games/{game}"
            view = _call(app, "GET", path, token=tokens[seat])
            if view["status"] in ("ended", "aborted"):
                dealt = _call(app, "POST", f"{table}/games", {}, token=tokens[0])
                game, seat = dealt["game"]["id"], 0
                continue
            legal = [move for move in view["moves"] if move["type"] != "swap"]
            if legal:
                made = _call(app, "POST", f"{path}/moves", legal[0], token=tokens[seat], keyed=True)
                view, done = made["game"], done + 1
            seat = 1 - seat if view["turn"] is None else view["turn"]

    return steps


def _ask_bare() -> Callable[[int], None]:
    """Return a function that reads and appends in the bare application."""
    app, path = bare_view.create(), f"/streams/{uuid4()}"

    def steps(moves: int) -> None:
        for _ in range(moves):
            _call(app, "GET", path, token="-")
            _call(app, "POST", path, {"type": "play", "cards": ["7c"]}, token="-", keyed=True)

    return steps


def _call(
    app: Application,
    method: str,
    path: str,
    body: Any = None,
    *,
    token: str = "",
    keyed: bool = False,
) -> Any:
    """Return the JSON of an answer; raises ValueError unless it is a success."""
    raw = b"" if body is None else orjson.dumps(body)
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": "",
        "SCRIPT_NAME": "",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8080",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": "bench",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(raw),
        "wsgi.input_terminated": True,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
    }
    if token:
        environ["HTTP_AUTHORIZATION"] = f"Bearer {token}"
    if keyed:
        environ["HTTP_IDEMPOTENCY_KEY"] = uuid4().hex
    if body is not None:
        environ |= {"CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(raw))}
    statuses: list[str] = []
    parts = app(environ, lambda status, *_headers: statuses.append(status))
    answer = b"".join(parts)
    if hasattr(parts, "close"):
        parts.close()
    if not statuses[0].startswith("2"):
        raise ValueError(f"{method} {path}: {answer!r}")
    return orjson.loads(answer)


if __name__ == "__main__":
    main()
