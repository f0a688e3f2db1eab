"""Client connections: limits for each address, stalled connections, and disconnected clients."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
import struct
import sys
import termios
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

import structlog

from service.api.parsing import counted_address
from service.runtime.config import CONNECTIONS, Settings

INTERVAL_SECONDS = 0.25
"""Pause between two checks of the limit while many connections are in use."""

QUIET_SECONDS = 1.0
"""
The same while few are. A check takes 20 µs, but 0.2 ms if nothing else has run since the last one.
"""

STALLED_SECONDS = 60.0
"""Time after which a connection is closed if its client receives none of the waiting bytes."""

ANSWER_SECONDS = 0.5
"""Greatest time from the end of a request in the application until its answer is sent."""

STALL_CHECK_SECONDS = 5.0
"""Pause between two checks for stalled connections, which take some 20 µs per connection."""

_DESCRIPTORS = Path("/proc/self/fd")
_ABORT = struct.pack("ii", 1, 0)
"""The value of SO_LINGER with which closing discards the bytes not yet sent."""

_log = structlog.get_logger("api")


class ConnectionLimit:
    """
    Closes the connections above the limit of an address, and stalled ones.

    One address may have a quarter of the connections that this process accepts. Those above the
    limit are closed while more than half of all are in use. Behind trusted proxies the limit does
    not apply: all connections come from the proxies, which limit their clients.

    A connection is stalled, and reset, if bytes wait for its client and the client has received
    none of them for a minute. Otherwise the stream of an unreachable reader would keep its slot
    until TCP gives up, after a quarter of an hour.
    """

    def __init__(self, settings: Settings, *, connections: int = CONNECTIONS) -> None:
        self._ports = {settings.port, settings.stream_port}
        self._most = connections // 2
        self._most_of_one = connections // 4
        self._many = connections // 16
        self._behind_proxies = settings.trusted_proxies > 0
        self._waiting: dict[int, tuple[int, float]] = {}  # by inode: bytes acknowledged, since when

    def start(self) -> None:
        """Check the connections of this process periodically, in a thread."""
        if _DESCRIPTORS.is_dir():
            threading.Thread(target=self._run, name="connections", daemon=True).start()

    def enforce(self) -> Counter[str]:
        """Close the connections above the limit; return the number closed for each address."""
        closed = Counter[str]()
        if self._behind_proxies:
            return closed
        if _descriptors() <= self._most:
            return closed
        held = Counter[str]()
        for connection, address in self._connections():
            with connection, contextlib.suppress(OSError):  # it has just been closed
                held[address] += 1
                if held[address] > self._most_of_one:
                    connection.shutdown(socket.SHUT_RDWR)
                    closed[address] += 1
        return closed

    def pause(self) -> float:
        """Return after how many seconds the limit is checked again."""
        if self._behind_proxies or _descriptors() <= self._many:
            return QUIET_SECONDS
        return INTERVAL_SECONDS

    def close_stalled(self, now: float) -> Counter[str]:
        """
        Reset the connections whose clients received none of the waiting bytes in STALLED_SECONDS.

        Returns the number closed for each address. `now` is the time of a monotonic clock.
        """
        closed, waiting = Counter[str](), dict[int, tuple[int, float]]()
        for connection, address in self._connections():
            with connection, contextlib.suppress(OSError):  # it has just been closed
                if not _bytes_waiting(connection):
                    continue
                inode = os.fstat(connection.fileno()).st_ino
                acknowledged = _bytes_acknowledged(connection)
                before, since = self._waiting.get(inode, (acknowledged, now))
                if acknowledged != before:
                    since = now
                if now - since < STALLED_SECONDS:
                    waiting[inode] = acknowledged, since
                    continue
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT)
                connection.shutdown(socket.SHUT_RDWR)
                closed[address] += 1
        self._waiting = waiting
        return closed

    def hang_up(self, address: str, answered_at: float) -> int:
        """
        End the connections from `address` whose last byte was sent at a time; return their number.

        WSGI does not name the connection of a request. One that was answered in the same moment,
        and has been idle since, is closed with it, as a server may close any idle connection. Only
        its receiving half is shut down, so the server still sends what it has to send.
        """
        age, found = time.monotonic() - answered_at, 0
        for connection, client in self._connections():
            with connection, contextlib.suppress(OSError):  # it has just been closed
                if client != counted_address(address) or _bytes_acknowledged(connection) <= 1:
                    continue  # a byte is counted for the handshake
                if abs(_seconds_since_sent(connection) - age) < ANSWER_SECONDS:
                    connection.shutdown(socket.SHUT_RD)
                    found += 1
        return found

    def _run(self) -> None:
        due = 0.0
        while True:
            time.sleep(self.pause())
            for address, count in self.enforce().items():
                _log.warning("too many connections of one address", address=address, closed=count)
            if (now := time.monotonic()) >= due:
                due = now + STALL_CHECK_SECONDS
                for address, count in self.close_stalled(now).items():
                    _log.warning("stalled connections", address=address, closed=count)

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


def _descriptors() -> int:
    """Return the number of open files and sockets of this process."""
    return len(os.listdir(_DESCRIPTORS))  # noqa: PTH208 - no Path for each of 4,096


_TCP_INFO_SIZE = 192
_BYTES_ACKED = struct.Struct("@120xQ")  # tcpi_bytes_acked of struct tcp_info on Linux
_BYTES_RECEIVED = struct.Struct("@128xQ")  # tcpi_bytes_received
_LAST_SENT = struct.Struct("@44xI")  # tcpi_last_data_sent, in milliseconds
_OWN_DESCRIPTORS = Path("/dev/fd")


@contextmanager
def connections_from(
    address: str | None, received: int, ports: Collection[int | None]
) -> Iterator[list[socket.socket]]:
    """
    Yield the connections of this process that may belong to the current request.

    WSGI reports the client's address but not its port. Therefore the list has all connections
    from that address to the server's `ports` that have received at least as many bytes as the body
    has: usually one, sometimes none. Those that this process opened, for example to Redis, are not
    among them. If there are several, for example from a proxy, a disconnect may remain
    undetected, but a connected client is never regarded as disconnected.
    """
    found: list[socket.socket] = []
    try:
        found.extend(_connections(address, received, ports))
        yield found
    finally:
        for connection in found:
            connection.close()


def _connections(
    address: str | None, received: int, ports: Collection[int | None]
) -> Iterator[socket.socket]:
    if not address:
        return
    with contextlib.suppress(OSError):
        for entry in list(_OWN_DESCRIPTORS.iterdir()):
            connection = _socket(int(entry.name))
            if connection is None:
                continue
            if _may_belong(connection, address, received, ports):
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


def _may_belong(
    connection: socket.socket, address: str, received: int, ports: Collection[int | None]
) -> bool:
    """Return whether a connection from `address` to `ports` has got at least `received` bytes."""
    try:
        if connection.family not in (socket.AF_INET, socket.AF_INET6):
            return False
        if connection.getsockname()[1] not in ports:
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


def _seconds_since_sent(connection: socket.socket) -> float:
    """Return the time since the last byte was sent on a connection, on Linux."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_SIZE)
    milliseconds: int = _LAST_SENT.unpack_from(info)[0]
    return milliseconds / 1000


def _bytes_waiting(connection: socket.socket) -> int:
    """Return the number of bytes in the socket that the client has not acknowledged, on Linux."""
    answer = fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4))
    return int.from_bytes(answer, sys.byteorder)


def _bytes_acknowledged(connection: socket.socket) -> int:
    """Return the number of bytes that the client has acknowledged, on Linux."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_SIZE)
    acknowledged: int = _BYTES_ACKED.unpack_from(info)[0] if len(info) >= _BYTES_ACKED.size else 0
    return acknowledged
