"""Client connections: a limit for each address, and the detection of disconnected clients."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

import structlog

from service.api.limits import counted_address
from service.config import CONNECTIONS, Settings

INTERVAL_SECONDS = 0.25
"""Pause between two checks of the sockets; a check takes some 20 µs while there are few."""

_DESCRIPTORS = Path("/proc/self/fd")

_log = structlog.get_logger("api")


class ConnectionLimit:
    """
    Limits the connections of one address to a quarter of those that this process accepts.

    Connections above the limit are closed while more than half of all are in use. Behind trusted
    proxies none is closed: all connections come from the proxies, which limit their clients.
    """

    def __init__(self, settings: Settings, *, connections: int = CONNECTIONS) -> None:
        self._ports = {settings.port, settings.stream_port}
        self._most = connections // 2
        self._most_of_one = connections // 4
        self._enabled = not settings.trusted_proxies and _DESCRIPTORS.is_dir()

    def start(self) -> None:
        """Check the connections of this process periodically, in a thread."""
        if self._enabled:
            threading.Thread(target=self._run, name="connections", daemon=True).start()

    def enforce(self) -> Counter[str]:
        """Close the connections above the limit; return the number closed for each address."""
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


_TCP_INFO_SIZE = 192
_BYTES_RECEIVED = struct.Struct("@128xQ")  # in Linux's struct tcp_info
_OWN_DESCRIPTORS = Path("/dev/fd")


@contextmanager
def connections_from(address: str | None, received: int) -> Iterator[list[socket.socket]]:
    """
    Yield the connections of this process that may belong to the current request.

    WSGI reports the client's address but not its port. Therefore the list has all connections
    from that address that have received at least as many bytes as the body has: usually one,
    sometimes none. If there are several, for example from a proxy, a disconnect may remain
    undetected, but a connected client is never regarded as disconnected.
    """
    found: list[socket.socket] = []
    try:
        found.extend(_connections(address, received))
        yield found
    finally:
        for connection in found:
            connection.close()


def _connections(address: str | None, received: int) -> Iterator[socket.socket]:
    if not address:
        return
    with contextlib.suppress(OSError):
        for entry in list(_OWN_DESCRIPTORS.iterdir()):
            connection = _socket(int(entry.name))
            if connection is None:
                continue
            if _may_belong(connection, address, received):
                yield connection
            else:
                connection.close()


def _socket(number: int) -> socket.socket | None:
    """Return a duplicate of a socket; None for other files and closed descriptors."""
    try:
        if not stat.S_ISSOCK(os.fstat(number).st_mode):
            return None
        duplicate = os.dup(number)
    except OSError:
        return None
    try:
        return socket.socket(fileno=duplicate)
    except OSError:  # another thread closed it, and its number was reused
        os.close(duplicate)
        return None


def _may_belong(connection: socket.socket, address: str, received: int) -> bool:
    """Return whether a connection may be that of a request from an address with such a body."""
    try:
        if connection.family not in (socket.AF_INET, socket.AF_INET6):
            return False
        return _canonical(connection.getpeername()[0]) == _canonical(address) and (
            _received(connection) >= received
        )
    except (OSError, ValueError):
        return False


def _canonical(address: str) -> str:
    """Return an address in canonical form; an IPv4-mapped IPv6 address as IPv4."""
    parsed = ip_address(address.partition("%")[0])
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)


def _received(connection: socket.socket) -> int:
    """Return the number of bytes received on a connection; the largest integer if unknown."""
    if sys.platform != "linux":
        return sys.maxsize
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_SIZE)
    if len(info) < _BYTES_RECEIVED.size:
        return sys.maxsize
    received: int = _BYTES_RECEIVED.unpack_from(info)[0]
    return received
