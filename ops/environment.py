"""The virtual environment of this checkout: created once, updated when its requirements change."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parent.parent
_CONSTRAINTS = ROOT / "ops" / "constraints.txt"
_INDEX = "global.index-url"
"""The setting of pip that replaces PyPI."""

_STAMP = "shithead-stamp.json"
_OLDEST = (3, 11)
_SYSTEM = "/usr/bin/python3"
_TEST_REQUIREMENTS = ("pytest", "hypothesis")
_CANDIDATES = ("python3.14", "python3.13", "python3.12", "python3.11")
_QUICKER = 0.9
"""Another Python is taken if plain loops take at most this share of the time they take in ours.

Builds without optimization by a profile are slower by a fifth to four fifths. Distributions
optimize so without naming it in `CONFIG_ARGS`; hence a loop is timed instead of reading the flag.
"""

_LOOP = """
import ensurepip, sys, time, venv
def seconds():
    start, total, kept = time.process_time(), 0, {{}}
    for i in range(300_000):
        total += i & 7
        kept[i & 63] = total
    return time.process_time() - start
if sys.version_info >= {wanted}:
    print(min(seconds() for _ in range(5)), sys.version.split()[0])
"""


def ensure_python() -> None:
    """Go on with Python 3.11 or newer: this one, else one on the path, else a message."""
    if sys.version_info >= _OLDEST:
        return
    for name in _CANDIDATES:
        found = shutil.which(name)
        if found is not None:
            os.execv(found, [found, *sys.argv])
    fail(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}")


def ensure_environment(*, dev: bool) -> Path:
    """
    Return the Python of an environment that holds what the project needs.

    If its stamp is current nothing is done. The stamp is removed first and written last, so an
    interrupted set-up is repeated. Where only the tools of development are missing they are added,
    and a service that runs from this environment goes on.
    """
    folder = _choose_folder(dev=dev)
    if _is_current(folder, dev=dev):
        return _python(folder)
    with _locked(folder):
        if not _is_current(folder, dev=dev):
            _set_up(folder, dev=dev)
    return _python(folder)


def add_extras(python: Path, *names: str) -> None:
    """Install extras of the project that `dev` leaves out because they are large."""
    extras = _project()["optional-dependencies"]
    requirements = [one for name in names for one in extras[name]]
    _install(python, requirements, f"cannot install the extras {', '.join(names)}")


def other_python(python: Path, path: str) -> str | None:
    """
    Return a Python of another release than `python`: the system's, else the newest on `path`.

    Modules of the standard library change also between two security updates of one version. None
    is returned if this machine has no other one that is new enough.
    """
    folders = path.split(os.pathsep)
    found = [_SYSTEM, *(f"{folder}/{name}" for name in _CANDIDATES for folder in folders)]
    ours = _release_of(str(python))
    for candidate in found:
        release = _release_of(candidate) if os.access(candidate, os.X_OK) else ""
        if release not in ("", ours):
            return candidate
    return None


def quickest_python(ours: str, path: str) -> str:
    """
    Return the Python to set up with: `ours`, or one of the same version or newer that is quicker.

    The others are the system's and those on `path` that can make an environment. The one
    that replaces `ours` is reported.
    """
    found = [_SYSTEM, *(shutil.which(name, path=path) for name in _CANDIDATES)]
    able = dict.fromkeys(one for one in (ours, *found) if one and os.access(one, os.X_OK))
    loops = dict.fromkeys(able, (0.0, ""))
    for one in [*able] * 4:  # in turn, so that other work on the machine meets each
        seconds, version = _loop_of(one)
        loops[one] = (loops[one][0] + seconds, version)
    best = min(loops, key=lambda one: loops[one][0])
    if loops[best][0] >= loops[ours][0] * _QUICKER:
        return ours
    print(f"using {best} ({loops[best][1]}), which is quicker than {ours}", file=sys.stderr)
    return best


def _loop_of(python: str) -> tuple[float, str]:
    """Return the seconds of a plain loop, and the version; endless if a Python cannot serve."""
    script = _LOOP.format(wanted=tuple(sys.version_info[:2]))
    seconds, _, version = _output([python, "-c", script]).partition(" ")
    return float(seconds or "inf"), version


def small_environment(folder: Path, python: str) -> Path | None:
    """
    Return the Python of an environment below `folder` for unit tests under another Python.

    It is made by uv with the requirements of the service. None is returned if uv cannot make it,
    as without wheels for that Python.
    """
    uv = str(folder / "bin" / "uv")
    made = folder / "cache" / "other-python"
    stamp, wanted = made / _STAMP, f"{_fingerprint()} {_release_of(python)}"
    if not (stamp.exists() and stamp.read_text() == wanted):
        pip = [uv, "pip", "install", "--quiet", "--python", str(_python(made))]
        needed = [*_requirements(dev=False), *_TEST_REQUIREMENTS]
        if not (
            _succeeds([uv, "venv", "--quiet", "--clear", "--python", python, str(made)])
            and _succeeds([*pip, "-c", str(_CONSTRAINTS), *needed])
        ):
            return None
        stamp.write_text(wanted)
    return _python(made)


def _release_of(python: str) -> str:
    """Return the version of a Python with its build; empty if it does not run or is too old."""
    script = f"import sys; print(sys.version if sys.version_info >= {_OLDEST} else '')"
    return _output([python, "-c", script])


def bytecode_folder(folder: Path) -> Path:
    """Return where the tests in an environment keep compiled modules, none in the checkout."""
    return folder / "cache" / "bytecode"


def fail(message: str) -> NoReturn:
    """End with one message and exit status 1."""
    sys.exit(f"{Path(sys.argv[0]).name}: {message}")


def _choose_folder(*, dev: bool) -> Path:
    """
    Return .venv of the checkout, or a folder in the user's cache where that cannot serve.

    So a checkout can belong to another user, be read-only, or have been set up by root with a
    Python that other users cannot run.
    """
    here = ROOT / ".venv"
    if _is_current(here, dev=dev) or (_writable(ROOT) and _writable(here)):
        return here
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    name = hashlib.sha256(os.fsencode(ROOT)).hexdigest()[:12]
    folder = cache / "shithead" / f"venv-{name}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(
            f"no place for the virtual environment: {ROOT} cannot be written, nor {folder} "
            f"({error.strerror}); set XDG_CACHE_HOME to a folder that can be written"
        )
    return folder


def _writable(folder: Path) -> bool:
    return not folder.exists() or (os.access(folder, os.W_OK) and _is_ours(folder))


def _is_ours(folder: Path) -> bool:
    return folder == ROOT or folder.stat().st_uid == os.getuid()


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one program at a time set up; the others wait for it."""
    with folder.with_name(folder.name + ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _is_current(folder: Path, *, dev: bool) -> bool:
    try:
        stamp = json.loads((folder / _STAMP).read_text())
    except (OSError, ValueError):
        return False
    fits = stamp["holds"] == _fingerprint() and (stamp["dev"] or not dev)
    return fits and os.access(_python(folder), os.X_OK)


def _fingerprint() -> str:
    """Return a hash of what the environment depends on: three files and the checkout's path."""
    digest = hashlib.sha256(os.fsencode(ROOT))
    for name in ("pyproject.toml", "ops/constraints.txt", "ops/environment.py"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


def _set_up(folder: Path, *, dev: bool) -> None:
    print(f"setting up {folder} …", file=sys.stderr, flush=True)
    stamp = folder / _STAMP
    if dev:
        # Modules are compiled at installation, into the folder that the tests read.
        os.environ["PYTHONPYCACHEPREFIX"] = str(bytecode_folder(folder))
    if not _is_current(folder, dev=False):
        stamp.unlink(missing_ok=True)
        python = quickest_python(sys.executable, os.environ.get("PATH", ""))
        _run([python, "-m", "venv", "--clear", str(folder)], "cannot make an environment")
    _install(_python(folder), _requirements(dev=dev), "cannot install the dependencies")
    _install_checkout(folder)
    partial = stamp.with_suffix(".partial")
    partial.write_text(json.dumps({"holds": _fingerprint(), "dev": dev}))
    partial.replace(stamp)


def _install(python: Path, requirements: list[str], failure: str) -> None:
    """
    Install requirements at the versions that were tested, with uv or else with pip.

    uv takes a quarter of pip's time. pip serves where uv cannot: no wheel of uv for this machine,
    or packages that only settings of pip find (uv gets its `index-url` and no other).
    """
    pip = [str(python), "-m", "pip"]
    words = ["--disable-pip-version-check", "--no-input", "-c", str(_CONSTRAINTS)]
    if _succeeds([*pip, "install", "-qq", *words, "--only-binary", ":all:", "--no-compile", "uv"]):
        uv = [str(python.with_name("uv")), "pip", "install", "--quiet", "--python", str(python)]
        index = os.environ.get("PIP_INDEX_URL") or _output([*pip, "config", "get", _INDEX])
        chosen = ["--default-index", index] if index else []
        if _succeeds([*uv, "--compile-bytecode", "-c", str(_CONSTRAINTS), *chosen, *requirements]):
            return
    print("uv cannot install the dependencies here; pip does …", file=sys.stderr, flush=True)
    # Without a network pip reports versions in conflict, or that there is no such version.
    source = "they come from PyPI, or from the index that the settings of pip name"
    _run([*pip, "install", "-qq", *words, "--prefer-binary", *requirements], f"{failure}: {source}")


def _succeeds(command: list[str]) -> bool:
    none = subprocess.DEVNULL
    return subprocess.run(command, stdin=none, stderr=none, check=False).returncode == 0


def _output(command: list[str]) -> str:
    """Return what a command prints, empty if it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.stdout.decode().strip() if done.returncode == 0 else ""


def _requirements(*, dev: bool) -> list[str]:
    extra = _project()["optional-dependencies"]["dev"] if dev else []
    return [*_project()["dependencies"], *extra]


def _project() -> dict[str, Any]:
    import tomllib

    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project


def _install_checkout(folder: Path) -> None:
    """Let the environment find the packages where they are; nothing is built or copied."""
    (packages,) = (folder / "lib").glob("python3.*/site-packages")
    (packages / "shithead.pth").write_text(f"{ROOT}\n")
    script = folder / "bin" / "shithead"
    # -P: a module in the folder of the user, such as a downloaded dis.py, must not be imported.
    call = "import sys; sys.argv[0] = 'shithead'; from service.cli.__main__ import main; main()"
    script.write_text(f'#!/bin/sh\nexec "$(dirname "$0")/python" -P -c "{call}" "$@"\n')
    script.chmod(0o755)


def _run(command: list[str], failure: str) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        fail(f"{failure} (the cause is printed above)")
