"""One run: the machines, the servers, the load, a timeline, and the checks at the end."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ops.bench.faults.checks import check_all
from ops.bench.faults.load import Load
from ops.bench.faults.steps import ROOT
from ops.bench.scale.fleet import FailedJobs, Fleet, PgBouncer, Process, Valkey
from ops.bench.scale.network import Network
from ops.bench.scale.postgres import BINARIES, Postgres
from ops.bench.scale.report import Report, Size
from service.store.migrate import migrate

_LOWER_PRIORITY = 10
_SIGNED = "SELECT max(size) FROM log_heads WHERE note IS NOT NULL"
_REFUSED = (b"the public log is broken", b"another sequencer has to sign first")


class ScaleRun:
    """One run of a scenario: its folder, network, load, timeline and report."""

    def __init__(self, title: str, size: Size, network: Network, folder: Path) -> None:
        self.size = size
        self.network = network
        self.folder = folder
        self.report = Report(title=title)
        self._began = time.monotonic()
        self._load: Load | None = None
        self._jobs: FailedJobs | None = None

    def postgres(self, name: str, binaries: Path = BINARIES) -> Postgres:
        """Return a PostgreSQL server on a new machine, not created yet."""
        return Postgres(self.network.machine(name), self._folder(name), binaries)

    def primary(self, name: str = "primary") -> Postgres:
        """Return a running, migrated PostgreSQL server on a new machine."""
        made = self.postgres(name)
        made.create()
        made.start()
        migrate(made.url)
        return made

    def pgbouncer(self, primary: Postgres) -> PgBouncer:
        """Return a pooler on a new machine, in front of a primary."""
        folder = self._folder("pooler")
        folder.chmod(0o777)
        return PgBouncer(self.network.machine("pooler"), folder, primary.machine.address)

    def valkey(self, name: str) -> Valkey:
        """Return a Valkey server on a new machine, not started yet."""
        return Valkey(self.network.machine(name), self._folder(name))

    def fleet(self, **settings: str) -> Fleet:
        """Return the processes of the service, none of them started yet."""
        return Fleet(self._folder("service"), settings)

    def start(
        self, fleet: Fleet, counts: Mapping[str, int], clocks: Mapping[str, float] | None = None
    ) -> None:
        """Start the processes: the first API alone, because it makes the key file."""
        for kind, count in counts.items():
            for number in range(1, count + 1):
                name = f"{kind.lower()}-{number}"
                fleet.add(kind, self.network.machine(name), clock=(clocks or {}).get(name, 0.0))
                if kind == "API" and number == 1:
                    fleet.wait_ready()
        fleet.wait_ready()

    def record(self, text: str) -> None:
        """Add a line to the timeline."""
        self.report.timeline.append((time.monotonic() - self._began, text))
        print(f"{self.report.timeline[-1][0]:7.1f} s  {text}", flush=True)

    def begin_load(self, fleet: Fleet, *, failing: Sequence[str] = ()) -> Load:
        """
        Start tables and live readers against all processes that answer HTTP.

        `failing` are names of exceptions with which jobs may fail, because a server will be down.
        """
        self._began = time.monotonic()
        self._jobs = FailedJobs(fleet.redis_url, allowed=failing)
        self._load = Load(
            self.report.notes,
            lambda: fleet.addresses("API"),
            tables=self.size.tables,
            seed=self.size.seed,
            readers=self.size.readers,
            reading=lambda: fleet.addresses("streams"),
        )
        self._load.begin()
        self.record(f"{self.size.tables} tables and {self.size.readers} live readers begin")
        return self._load

    def end_load(self, load: Load) -> None:
        """Begin no further hand, and wait for the end of those that run."""
        self.record("no further hand begins")
        load.end()
        self.report.seconds = time.monotonic() - self._began
        self.record("every hand has ended")
        if self._jobs is not None:
            self.report.add_failed_jobs(*self._jobs.end())

    def check(self, owner_url: str, fleet: Fleet, load: Load) -> None:
        """
        Compare all acknowledged moves with the database and the public log.

        A process that ended by itself is a finding, and so is a failed job.
        """
        host, port = fleet.addresses("API")[0]
        self.report.readers = load.readers
        self.report.checked = check_all(
            owner_url, f"http://{host}:{port}", self.report.notes, load.readers
        )
        self.report.checked.wrong += fleet.ended()

    def measure_moves_after(self, moment: float) -> None:
        """Wait until a move sent from now on is acknowledged; report the time since `moment`."""
        since = len(self.report.notes.requests)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            done = self.report.notes.requests[since:]
            if any(request.status == 201 for request in done):
                seconds = time.monotonic() - moment
                self.report.measured.append(
                    ("until the next acknowledged move", f"{seconds:.1f} s")
                )
                return
            time.sleep(0.02)
        self.report.notes.wrong.append("no move was acknowledged for a minute")

    def command(self, *words: str) -> tuple[int, str]:
        """Return exit status and output of a command of the operator."""
        done = subprocess.run(
            [sys.executable, "-m", "service.cli", *words],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def sequencers_refuse(self, database: Postgres, processes: Sequence[Process]) -> str:
        """Restart sequencers on an older database; return "yes" if all refuse it, or else why."""
        [(signed,)] = database.sql(_SIGNED)
        for process in processes:
            process.kill()
            process.log.unlink()
            process.environment = {
                **process.environment,
                "SHITHEAD_DATABASE_URL": database.url_of("shithead_service"),
            }
            process.start()
        end = time.monotonic() + 30
        while not all(map(_refuses, processes)):
            if time.monotonic() > end:
                silent = [one.name for one in processes if not _refuses(one)]
                return f"{', '.join(silent)} did not refuse within 30 s"
            time.sleep(0.2)
        time.sleep(2.0)  # two more rounds
        return "yes" if database.sql(_SIGNED) == [(signed,)] else "one of them signed it"

    def abandon(self) -> None:
        """Begin no further hand: the run has failed."""
        if self._load is not None:
            self._load.stop()

    def _folder(self, name: str) -> Path:
        made = self.folder / name
        made.mkdir(mode=0o755)
        return made


@contextlib.contextmanager
def scale_run(title: str, size: Size, logs: Path | None = None) -> Iterator[ScaleRun]:
    """Yield a run with a network and a folder for unprivileged servers; remove both afterwards."""
    os.nice(max(0, _LOWER_PRIORITY - os.nice(0)))
    with tempfile.TemporaryDirectory(
        prefix="scale-", dir="/var/tmp", ignore_cleanup_errors=True
    ) as name:
        folder = Path(name)
        folder.chmod(0o755)
        with Network() as network:
            made = ScaleRun(title, size, network, folder)
            try:
                yield made
            except BaseException:
                made.abandon()
                raise
            finally:
                if logs is not None:
                    _keep_logs(folder, logs)


def _refuses(sequencer: Process) -> bool:
    log = sequencer.log.read_bytes()
    return any(word in log for word in _REFUSED)


def _keep_logs(folder: Path, logs: Path) -> None:
    logs.mkdir(parents=True, exist_ok=True)
    for log in folder.glob("*/*.log"):
        (logs / f"{log.parent.name}-{log.name}").write_bytes(log.read_bytes())
