"""
Programs of the service as forks of one process that has imported their modules.

Importing the modules takes half a second of processor time and 50 MB for each process. The
fork server of `multiprocessing` imports them once; each program is a fork of it, shares its
memory, and starts within milliseconds. It runs in a session of its own, with its own environment
and log, like a program started by `python -m`. If the fork server ends, its programs get SIGTERM,
and the next start of a program starts another fork server. It alone reports how programs end, so
one that hangs has to be killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from types import ModuleType
from typing import Any

import setproctitle

from service.runtime.telemetry import SHARED_FOLDER

PRELOADED = ("service.api.server", "service.wsgi", "workers.main", f"{__package__}.preload")
"""The modules of all programs; the last one prepares the fork server for its forks."""

PARENT = "PARENT_PROCESS_ID"
"""
The environment variable with the id of the process that started this one.

If that process has ended, `os.getppid` returns another id.
"""

HUNG_SECONDS = 30.0
"""Seconds for the fork server to fork a program, its own start included."""

_END_SECONDS = 5.0  # in which a killed fork server ends
_PR_SET_PDEATHSIG = 1
_OUT_OF_MEMORY = Path("/proc/self/oom_score_adj")
_SOONER = {"workers.main": 300}  # in thousandths of all memory; the API is needed more
_API_SOONER = 200


def can_fork(environment: Mapping[str, str]) -> bool:
    """
    Return whether a program with this environment can be forked.

    Programs are forked on Linux only, because system libraries elsewhere do not support it. The
    modules decided at their import whether metrics are shared, so the environment has to agree.
    """
    return sys.platform.startswith("linux") and (SHARED_FOLDER in environment) is _shares_metrics()


class ForkedProgram:
    """A running program, with the methods of `subprocess.Popen` that its users need."""

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str],
        folder: Path,
    ) -> None:
        """Fork a process that runs `module` like `python -m`; output is appended to `log`."""
        what = (module, tuple(arguments), str(log), dict(environment), str(folder))
        os.environ[PARENT] = str(os.getpid())  # for the fork server, if it has to be started
        try:
            self._process = _started(what)
        except (EOFError, OSError):  # the fork server has ended, or hung and was killed
            _await_end_of_fork_server()
            self._process = _started(what)
        self.pid = self._process.pid or 0
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while the program runs."""
        self.returncode = self._process.exitcode
        return self.returncode

    @property
    def is_unreported(self) -> bool:
        """Return whether the program has ended, and the fork server did not report its status."""
        try:
            state = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:  # reaped, so the status is on its way
            return False
        return state == "Z" and self.poll() is None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status once it ends; raises TimeoutExpired after `timeout` seconds."""
        self._process.join(timeout)
        status = self.poll()
        if status is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal to the program unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM to the program unless it has ended."""
        self.send_signal(signal.SIGTERM)


def _started(what: tuple[Any, ...]) -> ForkServerProcess:
    """
    Return a new process of the fork server, which is killed if it does not answer.

    Without that a fork server that hangs would hold up the supervisor for ever.
    """
    process = _context().Process(target=_run, args=what)
    timer = threading.Timer(HUNG_SECONDS, kill_fork_server)
    timer.daemon = True
    timer.start()
    try:
        with _no_main_module():
            process.start()
    finally:
        timer.cancel()
    return process


def fork_server() -> int | None:
    """Return the process id of the fork server; None before the first program."""
    found = getattr(forkserver._forkserver, "_forkserver_pid", None)  # noqa: SLF001 - no public name
    return None if found is None else int(found)


def _await_end_of_fork_server() -> None:
    """
    Wait until the fork server can be replaced.

    The kernel closes its socket before it has ended, and until then `multiprocessing` uses it.
    """
    pid, end = fork_server(), time.monotonic() + _END_SECONDS
    options = os.WEXITED | os.WNOHANG | os.WNOWAIT  # `multiprocessing` takes its status
    with contextlib.suppress(ChildProcessError):
        while pid and os.waitid(os.P_PID, pid, options) is None and time.monotonic() < end:
            time.sleep(0.01)


def kill_fork_server() -> None:
    """Kill the fork server, if there is one, because it hangs; its programs get SIGTERM."""
    pid = fork_server()
    if pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def _no_main_module() -> Iterator[None]:
    """
    Hide the main module of this process from `multiprocessing`.

    Otherwise each child would import it, in case the target is defined there.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _context() -> ForkServerContext:
    """
    Return the fork server of this process; it starts with the first program.

    Its modules are named each time, because other code of the process may have named others.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    return context


@cache
def _shares_metrics() -> bool:
    """Return whether metrics are shared in the fork server, which starts after the first call."""
    return SHARED_FOLDER in os.environ


def _run(
    module: str, arguments: tuple[str, ...], log: str, environment: dict[str, str], folder: str
) -> None:
    """Run a program in a forked child; its exit status is that of the child."""
    os.setsid()
    end_with_parent()
    _end_before_fork_server(module)
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    os.close(output)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr] # both are text files
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    multiprocessing.set_start_method("fork", force=True)  # for the processes of the API
    sys.argv = [module, *arguments]
    setproctitle.setproctitle(" ".join(["python", "-m", *sys.argv]))
    sys.modules.pop(module, None)  # it runs as `__main__`, a second time after its import
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except Exception as error:  # noqa: BLE001 - logged, and the end of the program
        # `multiprocessing` would print it as text; the program has configured its log.
        sys.excepthook(type(error), error, error.__traceback__)
        raise SystemExit(1) from None


def _end_before_fork_server(module: str) -> None:
    """
    Let the kernel end this process first if memory runs out: it is started again by itself.

    With the fork server all programs end, and with PostgreSQL every call fails.
    """
    with contextlib.suppress(OSError, ValueError):
        present = int(_OUT_OF_MEMORY.read_text())
        _OUT_OF_MEMORY.write_text(str(min(1000, present + _SOONER.get(module, _API_SOONER))))


def end_with_parent(number: signal.Signals = signal.SIGTERM) -> None:
    """Let the kernel send a signal to this process when its parent ends, or has ended already."""
    parent = int(os.environ[PARENT])
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)
