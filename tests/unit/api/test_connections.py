"""Stalled connections are closed, slow clients keep theirs; how often the limit is checked."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from service.api.connections import (
    INTERVAL_SECONDS,
    QUIET_SECONDS,
    STALLED_SECONDS,
    ConnectionLimit,
    connections_from,
)
from service.runtime.config import Settings

SMALL = 4096
"""Bytes of a receive buffer."""

Ends = tuple[socket.socket, socket.socket]
"""The client's end of a connection, and the server's."""


class Server:
    """A listening socket, and the limit of its process."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = self._listener.getsockname()[1]
        self.limit = ConnectionLimit(
            Settings(database_url="postgresql://x@localhost/x", keys="{}", port=port)
        )

    def connected(self) -> Ends:
        """Return a new connection with small buffers, full of bytes that the client has to read."""
        client = self._stack.enter_context(socket.socket())
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
        client.connect(self._listener.getsockname())
        end = self._stack.enter_context(self._listener.accept()[0])
        end.setblocking(False)
        fill(end)
        return client, end


@pytest.fixture
def server() -> Iterator[Server]:
    """Return a server whose connections are closed after the test."""
    with ExitStack() as stack:
        yield Server(stack)


def fill(end: socket.socket) -> None:
    """Send until the socket accepts no more."""
    with pytest.raises(BlockingIOError):
        while True:
            end.send(bytes(1 << 16))


def read_all(client: socket.socket) -> None:
    """Read until nothing arrives for a while."""
    client.settimeout(0.2)
    with pytest.raises(TimeoutError):
        while client.recv(1 << 16):
            pass


def test_a_client_that_receives_nothing_for_a_minute_is_disconnected(server: Server) -> None:
    client, end = server.connected()
    assert not server.limit.close_stalled(0.0)
    assert not server.limit.close_stalled(STALLED_SECONDS - 1)
    assert server.limit.close_stalled(STALLED_SECONDS) == {"127.0.0.1": 1}
    with pytest.raises(BrokenPipeError):
        end.send(b"x")
    end.close()
    with pytest.raises(ConnectionResetError):  # what waited is discarded, also in the kernel
        while client.recv(1 << 16):
            pass


def test_a_client_that_receives_something_each_minute_stays_connected(server: Server) -> None:
    client, end = server.connected()
    for minute in range(3):
        assert not server.limit.close_stalled(minute * STALLED_SECONDS)
        read_all(client)
        fill(end)
    assert not server.limit.close_stalled(3 * STALLED_SECONDS)


def test_a_connection_without_waiting_bytes_stays_open(server: Server) -> None:
    """As between two requests, or in a stream of a game in which nobody moves."""
    client, end = server.connected()
    read_all(client)
    for minute in range(3):
        assert not server.limit.close_stalled(minute * STALLED_SECONDS)
    assert end.send(b"x") == 1


def test_connections_of_other_ports_are_left_alone(server: Server) -> None:
    """For example those to PostgreSQL and Redis."""
    with ExitStack() as stack:
        Server(stack).connected()
        for minute in range(3):
            assert not server.limit.close_stalled(minute * STALLED_SECONDS)


def test_the_limit_is_checked_more_often_while_many_connections_are_open() -> None:
    settings = Settings(database_url="postgresql://x@localhost/x", keys="{}")
    assert ConnectionLimit(settings).pause() == QUIET_SECONDS
    assert ConnectionLimit(settings, connections=16).pause() == INTERVAL_SECONDS
    behind = replace(settings, trusted_proxies=1)
    assert ConnectionLimit(behind, connections=16).pause() == QUIET_SECONDS


def test_the_connections_of_a_request_are_those_that_its_client_opened(server: Server) -> None:
    """A broken one to Redis at the same address would stop the verification of an upload."""
    client, end = server.connected()
    client.sendall(bytes(100))
    port = end.getsockname()[1]
    with connections_from("127.0.0.1", 100, (port, None)) as found:
        assert {one.getpeername() for one in found} == {client.getsockname()}
    with connections_from("127.0.0.1", 101, (port, None)) as found:
        assert found == [], "the body was longer"
