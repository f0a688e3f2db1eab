"""Detection of clients that have disconnected, from the sockets of this process."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

_TCP_INFO_SIZE = 192
_BYTES_RECEIVED = struct.Struct("@128xQ")  # in Linux's struct tcp_info
_DESCRIPTORS = Path("/dev/fd")


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
        for entry in list(_DESCRIPTORS.iterdir()):
            connection = _socket(int(entry.name))
            if connection is None:
                continue
            if _may_be(connection, address, received):
                yield connection
            else:
                connection.close()


def _socket(number: int) -> socket.socket | None:
    """Return a duplicate of a socket; None for other files and closed descriptors."""
    try:
        if not stat.S_ISSOCK(os.fstat(number).st_mode):
            return None
        twin = os.dup(number)
    except OSError:
        return None
    try:
        return socket.socket(fileno=twin)
    except OSError:  # another thread closed it, and its number was reused
        os.close(twin)
        return None


def _may_be(connection: socket.socket, address: str, received: int) -> bool:
    try:
        if connection.family not in (socket.AF_INET, socket.AF_INET6):
            return False
        return _plain(connection.getpeername()[0]) == _plain(address) and (
            _received(connection) >= received
        )
    except (OSError, ValueError):
        return False


def _plain(address: str) -> str:
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
