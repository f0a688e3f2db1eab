"""Games played through the containers of `ops/compose.yaml`, with processes killed under load."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ops.bench.faults.checks import check_all
from ops.bench.faults.load import Load
from ops.bench.faults.steps import ROOT
from ops.bench.scale.fleet import DATABASE_DOWN, QUEUES_LOST, FailedJobs, wait_ready
from ops.bench.scale.report import Report, Size
from ops.images import TARGETS
from service.local.up import _free_port

KILLED = (
    *("worker", "streams", "relay", "sweeper", "sequencer"),
    *("pgbouncer", "valkey", "api", "streams", "postgres"),
)
"""The containers whose first process is killed, in this order; the engine starts them again."""

OPERATED = (
    ("check", "--deep"),
    ("backup", "/var/lib/shithead/first.backup"),
    ("admin", "--yes", "archive", "--older-than", "90"),
    ("admin", "trail"),
)
"""Commands of the operator, as the runbook has them (section 18)."""

MORE = {"worker": 2, "relay": 2, "sequencer": 2}


def composed(size: Size, logs: Path | None = None) -> Report:
    """
    Return the report of a run through the composed system.

    The images must have been built (`ops/images.py`); containers and volumes are removed.
    """
    port, streams = _free_port("127.0.0.1", 0), _free_port("127.0.0.1", 0)
    password = secrets.token_hex(16)
    system = Composed(
        {
            "SERVERS_PASSWORD": password,
            "API_PORT": str(port),
            "STREAMS_PORT": str(streams),
            "SHITHEAD_RATE_LIMITS": "off",
        }
    )
    report = Report(title="Games through the composed system")
    try:
        system.compose("up", "-d", "--no-build", *_scales())
        wait_ready(("127.0.0.1", port))
        began = time.monotonic()
        queues = f"redis://:{password}@{system.address_of('valkey')}:6379/0"
        jobs = FailedJobs(queues, allowed=(*DATABASE_DOWN, *QUEUES_LOST))
        load = Load(
            report.notes,
            lambda: (("127.0.0.1", port),),
            tables=size.tables,
            seed=size.seed,
            readers=size.readers,
            reading=lambda: (("127.0.0.1", streams),),
        )
        load.begin()
        for name in KILLED:
            time.sleep(size.seconds / len(KILLED))
            system.kill(name)
            report.timeline.append((time.monotonic() - began, f"{name}: SIGKILL"))
        load.end()
        report.seconds = time.monotonic() - began
        report.add_failed_jobs(*jobs.end())
        report.notes.wrong += system.ended(Counter(KILLED))
        report.readers = load.readers
        address = system.address_of("postgres")
        owner = f"postgresql://shithead:{password}@{address}/shithead"
        report.checked = check_all(owner, f"http://127.0.0.1:{port}", report.notes, load.readers)
        report.parts += system.parts()
        for words in OPERATED:
            system.operate(*words)  # raises if it fails
            report.measured.append((f"`shithead {' '.join(words)}` in a container", "done"))
    finally:
        if logs is not None:
            logs.mkdir(parents=True, exist_ok=True)
            (logs / "compose.log").write_text(system.compose("logs", "--no-color"))
        system.compose("down", "-v", "--timeout", "5")
    return report


def missing_for_containers() -> str | None:
    """Return why the composed system cannot be started, None if it can."""
    try:
        _output(["docker", "info"], os.environ)
        _output([*_program(), "version"], os.environ)
        for target in TARGETS:
            _output(["docker", "image", "inspect", f"shithead-{target}"], os.environ)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no container engine with compose and the images of ops/images.py: {error}"
    return None


class Composed:
    """A compose project with a name of its own."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = {**os.environ, **environment}
        self._project = f"shithead-{os.getpid()}"
        self._program = _program()

    def compose(self, *words: str, given: str | None = None) -> str:
        """Return the output of a command of compose on `given`; raises CalledProcessError."""
        file = ("-f", str(ROOT / "ops/compose.yaml"), "-p", self._project)
        return _output([*self._program, *file, *words], self._environment, given)

    def lose(self) -> None:
        """Kill all containers, and remove the volumes of the database and of the state."""
        self.compose("kill")
        self.compose("rm", "-f")
        volumes = [f"{self._project}_{name}" for name in ("database", "state")]
        _output(["docker", "volume", "rm", *volumes], os.environ)

    def operate(self, *words: str) -> str:
        """Return the output of a command as the owner of the database; see `compose`."""
        return self.compose("run", "--rm", "-T", "migrate", *words)

    def kill(self, service: str) -> None:
        """Kill the first process of a service, as a fault does: the engine starts it again."""
        os.kill(int(self._inspected(service, "{{.State.Pid}}")), signal.SIGKILL)

    def ended(self, killed: Counter[str]) -> list[str]:
        """Return a finding for each service that the engine started again without a kill."""
        wrong = []
        for service in self.compose("config", "--services").split():
            containers = self.compose("ps", "-q", service).split()
            form = ["docker", "inspect", "--format", "{{.RestartCount}}", *containers]
            restarts = sum(map(int, _output(form, os.environ).split())) if containers else 0
            if restarts != killed[service]:
                wrong.append(f"{service}: {killed[service]} kills, but {restarts} restarts")
        return wrong

    def address_of(self, service: str) -> str:
        """Return the address of a container on the network of the project."""
        found = self._inspected(service, "{{json .NetworkSettings.Networks}}")
        return str(next(iter(json.loads(found).values()))["IPAddress"])

    def parts(self) -> list[str]:
        """Return the versions of engine and compose, and the size of each image."""
        version = _output(["docker", "version", "--format", "{{.Server.Version}}"], os.environ)
        rows = _output(["docker", "images", "--format", "{{.Repository}} {{.Size}}"], os.environ)
        images = [row for row in rows.splitlines() if row.startswith("shithead-")]
        short = _output([*self._program, "version", "--short"], os.environ).strip()
        containers = self.compose("ps", "-q").split()
        return [
            f"Docker {version.strip()}, compose {short}, {len(containers)} containers",
            f"images: {', '.join(sorted(images))}",
            "all containers: read-only root, no capability, no new privileges, not root",
        ]

    def _inspected(self, service: str, form: str) -> str:
        container = self.compose("ps", "-q", service).split()[0]
        return _output(["docker", "inspect", "--format", form, container], os.environ).strip()


def _program() -> list[str]:
    old = shutil.which("docker-compose")
    return [old] if old else ["docker", "compose"]


def _scales() -> list[str]:
    return [word for name, count in MORE.items() for word in ("--scale", f"{name}={count}")]


def _output(
    command: Sequence[str],
    environment: dict[str, str] | os._Environ[str],
    given: str | None = None,
) -> str:
    return subprocess.run(
        command, env=dict(environment), check=True, capture_output=True, text=True, input=given
    ).stdout
