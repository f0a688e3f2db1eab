"""Wheels as users install them: into an empty environment, away from the checkout."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import cache_from_source
from pathlib import Path
from urllib.request import urlopen

import pytest
from packaging.requirements import Requirement

from ops import wheels
from service.runtime.version import VERSION

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "tests" / "golden" / "samples" / "leeds.jsonl"
SERVER_PACKAGES = ("flask", "psycopg", "redis", "rq", "granian")
PAGES = (
    *("/", "/docs", "/docs/calls/games", "/docs/client", "/docs/shx-1.md"),
    *("/rules/leeds", "/verify", "/checks", "/preview.png"),
)
READY_SECONDS = 60.0


class Environment:
    """
    An environment with a wheel and its declared requirements, and nothing else.

    The requirements are copied from the environment of the tests, which installed them from the
    package index: no test depends on the index or its speed. uv or pip then checks
    that each requirement of the wheel is met, and has no index to find one that was not declared.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder.with_name(f"{folder.name}-home")
        self.home.mkdir()
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        (self.packages,) = folder.glob("lib/python3*/site-packages")

    def install(self, wheel: Path) -> None:
        """Install a wheel, after its requirements."""
        done: set[str] = set()
        for one in requirements(wheel):
            self._copy(one, done)
        self._pip("install", "--no-index", str(wheel))

    def uninstall(self, *names: str) -> None:
        """Remove distributions."""
        self._pip("uninstall", *names)

    def run(self, *words: str | Path, status: int = 0) -> str:
        """Run the command `shithead` in a folder of its own, and return its output."""
        done = subprocess.run(
            [self.folder / "bin" / "shithead", *words],
            cwd=self.home,
            env=self.variables(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == status, (words, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def variables(self) -> dict[str, str]:
        """Return an environment that leads back to no checkout and no other Python."""
        left_out = ("SHITHEAD_", "PYTHON", "PYTEST_", "PIP_", "UV_", "VIRTUAL_ENV")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(left_out)}
        return {**kept, "HOME": str(self.home), "PIP_CONFIG_FILE": os.devnull, "COLUMNS": "100"}

    def owners(self) -> dict[str, list[str]]:
        """Return the distributions of this project whose RECORD names a file, by file."""
        found: dict[str, list[str]] = {}
        for record in self.packages.glob("shithead*.dist-info/RECORD"):
            for line in record.read_text("utf-8").splitlines():
                found.setdefault(line.rsplit(",", 2)[0], []).append(record.parent.name)
        return found

    def has(self, package: str) -> bool:
        return (self.packages / package).is_dir()

    def _pip(self, command: str, *words: str) -> None:
        """Run a command of uv, which takes a tenth of pip's time, or of pip if there is no uv."""
        python = ("--python", str(self.folder / "bin" / "python"))
        uv = Path(sys.executable).with_name("uv")
        if uv.exists():
            call = [str(uv), "pip", command, "--quiet", *python, *words]
        else:
            pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", *python]
            call = [*pip, command, "--no-compile" if command == "install" else "-y", *words]
        subprocess.run(call, check=True, env=self.variables())

    def _copy(self, requirement: Requirement, done: set[str]) -> None:
        """Copy an installed distribution, and what it requires, into this environment."""
        if requirement.name.startswith("shithead") or str(requirement) in done:
            return
        done.add(str(requirement))
        found = importlib.metadata.distribution(requirement.name)
        for file in found.files or ():
            source, target = Path(str(file.locate())), self.packages / file
            if ".." not in file.parts and source.exists() and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
                _copy_compiled(source, target)
        for text in found.requires or ():
            if applies(needed := Requirement(text), requirement.extras):
                self._copy(needed, done)


def _copy_compiled(source: Path, target: Path) -> None:
    """Copy the bytecode of a module, if there is any, so that the environment need not compile."""
    if source.suffix == ".py" and (compiled := Path(cache_from_source(source))).exists():
        place = target.parent / "__pycache__" / compiled.name
        place.parent.mkdir(exist_ok=True)
        shutil.copy2(compiled, place)


def applies(requirement: Requirement, extras: Iterable[str] = ()) -> bool:
    """Return whether a requirement applies on this machine with these extras."""
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


def requirements(wheel: Path) -> list[Requirement]:
    """Return the requirements of a wheel, without its extras."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        header = archive.read(name).decode().split("\n\n")[0]
    found = map(Requirement, re.findall(r"^Requires-Dist: (.*)$", header, re.MULTILINE))
    return [one for one in found if applies(one)]


def built(folder: Path) -> tuple[Path, Path, Path]:
    """Return the wheels of `ops/wheels.py`, and the one that `pip install .` builds."""
    projects = []
    for distribution in wheels.distributions():
        projects.append(folder / distribution.name)
        wheels.write_project(distribution, projects[-1])
    wheels.build(projects, folder / "two")
    whole = folder / "checkout"
    for name in (*wheels.SOURCES, "pyproject.toml", "README.md", "LICENSE"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, whole / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / name, whole / name)
    wheels.build([whole], folder / "one")
    small, server = (next((folder / "two").glob(f"{name}-*")) for name in NAMES)
    return small, server, next((folder / "one").iterdir())


NAMES = (wheels.CLIENT.replace("-", "_"), "shithead")


def contents(wheel: Path) -> dict[str, bytes]:
    """Return the files of a wheel, without its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        names = [n for n in archive.namelist() if ".dist-info/" not in n]
        return {name: archive.read(name) for name in names}


def test_wheels_work_outside_the_checkout(tmp_path: Path) -> None:
    """One test, so that the wheels and the environment are made once."""
    small, server, single = built(tmp_path)
    environment = Environment(tmp_path / "environment")
    environment.install(small)
    assert [name for name in SERVER_PACKAGES if environment.has(name)] == []
    check_referee(environment)
    listed = environment.run()  # imports the module of each command
    assert "\n  dispute " in listed
    assert "\n  up " not in listed
    environment.run("up", status=64)

    environment.install(server)
    shared = {file: owners for file, owners in environment.owners().items() if len(owners) > 1}
    assert shared == {}
    check_service(environment)

    # The wheel of `pip install .` has the same files as both together, so it can do the same.
    environment.uninstall(wheels.CLIENT, "shithead")
    assert not environment.has("service")
    environment.install(single)
    check_verifies(environment)
    assert contents(small) | contents(server) == contents(single)
    both = {str(one) for one in (*requirements(small), *requirements(server))}
    assert both - {f"{wheels.CLIENT}=={VERSION}"} == {str(one) for one in requirements(single)}


def check_referee(environment: Environment) -> None:
    """A sample is verified, replayed and audited."""
    check_verifies(environment)
    assert "shithead" in environment.run("replay", "--text", SAMPLE)
    assert "played" in environment.run("audit", SAMPLE, "--move", "40")
    assert "Leeds" in environment.run("rulesets", "leeds")


def check_verifies(environment: Environment) -> None:
    """A sample is verified."""
    assert "no evidence of tampering, level L1" in environment.run("verify", SAMPLE)


def check_service(environment: Environment) -> None:
    """The service starts, serves its pages, and a keyed hand is played and verified."""
    with up(environment) as address:
        for page in PAGES:
            with urlopen(address + page, timeout=10) as answer:
                assert answer.status == 200
        words = ("play", "--url", address, "--keyed", "--auto", "lowest", "--with", "greedy")
        played = environment.run(*words)
        assert "no evidence of tampering, level L3" in played.splitlines()
    bundle = max(environment.home.rglob("game.shx"), key=lambda path: path.stat().st_mtime)
    assert "no evidence of tampering" in environment.run("verify", bundle)


@contextmanager
def up(environment: Environment) -> Iterator[str]:
    """Run `shithead up` in a folder without a checkout; yield its address."""
    output = environment.home / "up.output"
    with output.open("w") as file:
        child = subprocess.Popen(
            [environment.folder / "bin" / "shithead", "up", "--port", "0", "--workers", "1"],
            cwd=environment.home,
            env=environment.variables(),
            stdout=file,
            stderr=file,
            stdin=subprocess.DEVNULL,
        )
    try:
        end = time.monotonic() + READY_SECONDS
        while (found := re.search(r"^ready +(\S+)$", output.read_text(), re.MULTILINE)) is None:
            assert child.poll() is None, output.read_text()
            assert time.monotonic() < end, output.read_text()
            time.sleep(0.1)
        yield found[1]
    finally:
        child.send_signal(signal.SIGTERM)
        status = child.wait(timeout=30)
    assert status == 0, output.read_text()
