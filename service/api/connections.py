"""
The number of connections that one address may hold while a process has few places left.

The server accepts a limited number of connections in each process, idle ones included, and lets
every further one wait. Without a limit by address one client could hold all of them, and every
other client would wait until the deadline for the head of a request. The server has no such limit
itself, so a thread looks at the sockets of the process.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import structlog

from service.api.limits import counted_address
from service.config import CONNECTIONS, Settings

INTERVAL_SECONDS = 0.25
"""Pause between two looks at the sockets; a look costs some 20 µs while there are few."""

_DESCRIPTORS = Path("/proc/self/fd")

_log = structlog.get_logger("api")


class ConnectionLimit:
    """
    Closes connections of addresses with more than a quarter of the places of this process.

    This happens only while more than half of the places are taken. Behind trusted proxies all
    connections come from the proxies, which limit their clients: then nothing is closed.
    """

    def __init__(self, settings: Settings, *, places: int = CONNECTIONS) -> None:
        self._ports = {settings.port, settings.stream_port}
        self._most = places // 2
        self._most_of_one = places // 4
        self._enabled = not settings.trusted_proxies and _DESCRIPTORS.is_dir()

    def start(self) -> None:
        """Look at the connections of this process again and again, in a thread."""
        if self._enabled:
            threading.Thread(target=self._run, name="connections", daemon=True).start()

    def enforce(self) -> Counter[str]:
        """Close the connections above the limit; return how many were closed by address."""
        closed = Counter[str]()
        if len(os.listdir(_DESCRIPTORS)) <= self._most:  # noqa: PTH208 - no Path for each of 4,096
            return closed
        held = Counter[str]()
        for connection, address in self._connections():
            with connection, contextlib.suppress(OSError):  # it has just been closed
                held[address] += 1
                if held[address] > self._most_of_one:
                    connection.shutdown(socket.SHUT_RDWR)
                    closed[address] += 1
        return closed

    def _run(self) -> None:
        pause = threading.Event()
        while not pause.wait(INTERVAL_SECONDS):
            for address, count in self.enforce().items():
                _log.warning("too many connections of one address", address=address, closed=count)

    def _connections(self) -> Iterator[tuple[socket.socket, str]]:
        """
        Yield a socket object and the address of each client's connection; the caller closes it.

        Each object has a descriptor of its own: the server may close its descriptor at any
        moment, and the number may then belong to another connection.
        """
        for name in os.listdir(_DESCRIPTORS):  # noqa: PTH208 - no Path for each of 4,096
            with contextlib.suppress(OSError):
                if not stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                    continue
                connection = socket.socket(fileno=os.dup(int(name)))
                address = self._address_of_client(connection)
                if address is None:
                    connection.close()
                else:
                    yield connection, address

    def _address_of_client(self, connection: socket.socket) -> str | None:
        """Return the counted address of a client; None for other sockets."""
        if connection.family not in (socket.AF_INET, socket.AF_INET6):
            return None
        try:
            if connection.getsockname()[1] not in self._ports:
                return None
            return counted_address(connection.getpeername()[0])
        except OSError:  # a listening socket, or a connection that has just been closed
            return None
