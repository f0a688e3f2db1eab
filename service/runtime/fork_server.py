"""
Run a function on untrusted input in child processes that can be killed.

The fork server is started at the first request: a new Python with a minimal environment,
which imports the function once and forks for each request. A child ends at its time limit,
when its caller hangs up, or when the requesting process ends; the fork server ends with the
process that started it. No process has to send a signal: the kernel closes the sockets, and
each child sets its own alarm.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Final

START_SECONDS: Final = 20.0
"""Time limit for the fork server to import the function and to fork."""

GRACE_SECONDS: Final = 1.0
"""Seconds after its time limit at which a child ends itself."""

CHILD_NICENESS: Final = 5
"""Niceness of a child relative to the process that serves requests."""

_HEADER: Final = struct.Struct("!dQ")  # seconds, bytes of the request
_SIZE: Final = struct.Struct("!Q")  # bytes of the answer
_INHERITED: Final = (
    *("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ"),
    *("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"),
)
_HUNG_UP: Final = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR


class OutOfTime(Exception):
    """The time limit was exceeded; the child has been killed."""


class HungUp(Exception):
    """The caller hung up; the child has been killed."""


class ChildEnded(Exception):
    """The child ended without an answer."""


class ForkServer:
    """Runs `module:function`, from bytes to bytes, in child processes; thread-safe."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._lock = threading.Lock()
        self._server: tuple[subprocess.Popen[bytes], socket.socket] | None = None
        self._owner = os.getpid()
        atexit.register(self.close)

    def run(
        self, request: bytes, *, seconds: float, callers: Sequence[socket.socket] = ()
    ) -> bytes:
        """
        Return the answer to a request; the child has `seconds`, not counting the fork.

        `callers` are the connections that may be waiting for the answer; the child is killed
        once all of them have hung up. Raises OutOfTime, HungUp or ChildEnded.
        """
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                self._hand_over(theirs)
            try:
                _wait_for_start(ours)
                end = time.monotonic() + seconds
                ours.settimeout(seconds)
                ours.sendall(_HEADER.pack(seconds, len(request)))
                ours.sendall(request)
                _wait(ours, end, callers)
                return _received(ours, _SIZE.unpack(_received(ours, _SIZE.size))[0])
            except TimeoutError:
                raise OutOfTime from None
            except OSError:
                raise ChildEnded from None

    def close(self) -> None:
        """Stop the fork server, if this process started one."""
        with self._lock:
            if self._server is None or self._owner != os.getpid():
                return
            process, control = self._server
            self._server = None
            control.close()
            try:
                process.wait(timeout=2)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _hand_over(self, theirs: socket.socket) -> None:
        """Pass one end of a connection to the fork server, which is started if necessary."""
        with self._lock:
            for _ in range(2):
                if self._server is None or self._server[0].poll() is not None:
                    self._start()
                try:
                    if self._server is not None:
                        socket.send_fds(self._server[1], [b"."], [theirs.fileno()])
                    return
                except OSError:
                    self._kill_server()
        raise ChildEnded

    def _start(self) -> None:
        self._kill_server()
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-P", "-m", __name__, self._target, str(theirs.fileno())]
            process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=_environment(),
                cwd="/",
            )
        self._server = (process, ours)

    def _kill_server(self) -> None:
        if self._server is not None:
            process, control = self._server
            self._server = None
            control.close()
            process.kill()
            process.wait()


def _environment() -> dict[str, str]:
    """Return the environment of the fork server: paths and locale, no settings, no secrets."""
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return inherited | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def _wait_for_start(ours: socket.socket) -> None:
    """Wait for the child to start; raises ChildEnded if it does not."""
    ours.settimeout(START_SECONDS)
    try:
        started = ours.recv(1)
    except TimeoutError:
        started = b""
    if not started:
        raise ChildEnded


def _wait(ours: socket.socket, end: float, callers: Sequence[socket.socket]) -> None:
    """Wait for an answer; raises OutOfTime or HungUp."""
    poll = select.poll()
    poll.register(ours, select.POLLIN)
    waiting = {caller.fileno() for caller in callers}
    for number in waiting:
        poll.register(number, _HUNG_UP)
    while True:
        left = end - time.monotonic()
        if left <= 0:
            raise OutOfTime
        for number, _ in poll.poll(left * 1000):
            if number == ours.fileno():
                return
            poll.unregister(number)
            waiting.discard(number)
            if not waiting:
                raise HungUp


def _received(connection: socket.socket, count: int) -> bytes:
    """Return `count` bytes; raises OSError if the connection ends before."""
    parts = []
    while count:
        part = connection.recv(min(count, 1 << 20))
        if not part:
            raise ConnectionError("the child ended before its answer")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def serve(control: socket.socket, work: Callable[[bytes], bytes]) -> None:
    """Fork for each connection received from `control`, until that is closed."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(signal.Signals[name], signal.SIG_IGN)  # it ends when its owner does
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies: exit statuses are not read
    gc.collect()
    gc.freeze()
    while True:
        data, numbers, _, _ = socket.recv_fds(control, 1, 1)
        if not data:
            return
        for number in numbers:
            with socket.socket(fileno=number) as connection, contextlib.suppress(OSError):
                if os.fork() == 0:
                    control.close()
                    _child(connection, work)


def _child(connection: socket.socket, work: Callable[[bytes], bytes]) -> None:
    """Answer one request, then end this process."""
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, START_SECONDS)
        os.nice(CHILD_NICENESS)
        connection.sendall(b"!")
        seconds, size = _HEADER.unpack(_received(connection, _HEADER.size))
        signal.setitimer(signal.ITIMER_REAL, seconds + GRACE_SECONDS)
        request = _received(connection, size)
        threading.Thread(target=_end_on_hang_up, args=(connection,), daemon=True).start()
        answer = work(request)
        connection.sendall(_SIZE.pack(len(answer)) + answer)
    except OSError:
        pass  # the requesting process has closed the connection
    except BaseException:  # noqa: BLE001 - logged: there is no caller to raise to
        line = {"event": "a child process failed", "exception": traceback.format_exc()}
        print(json.dumps(line), file=sys.stderr, flush=True)
    finally:
        os._exit(0)


def _end_on_hang_up(connection: socket.socket) -> None:
    """End this process when the other side closes the connection."""
    with contextlib.suppress(OSError):
        connection.recv(1)
    os._exit(0)


def _main(target: str, control: str) -> None:
    module, _, name = target.partition(":")
    with socket.socket(fileno=int(control)) as connection:
        serve(connection, getattr(import_module(module), name))


if __name__ == "__main__":
    _main(*sys.argv[1:])
