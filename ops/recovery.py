"""Drill of recovery: play, destroy the data folder, recover from the WAL archive, and check."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol
from uuid import UUID

from ops.bench.faults.calls import ChangeRequest, Notes, new_key
from ops.bench.faults.checks import Checked, Logs, check_all, holds, stored
from ops.bench.faults.load import Load
from ops.bench.faults.steps import ROOT
from ops.bench.faults.system import below
from ops.bench.scale.composed import Composed, missing_for_containers
from ops.bench.scale.fleet import wait_ready
from service.local.servers import running_address
from service.local.up import readiness
from service.public_log.log_client import LogClient, Unreachable
from service.shx.bundle import Bundle
from service.shx.restores import open_restore
from service.verify.evidence import OutsideEvidence
from service.verify.finding import Check, Result
from service.verify.verify import verify_bundle
from tests.running import free_port

START_SECONDS: Final = 120.0
STALL_SECONDS: Final = 2.0
"""In a drill with a loss: how long moves are acknowledged that do not reach the archive."""

_PLAYED_AGAIN_SECONDS: Final = 2.0
_STATE: Final = "/var/lib/shithead"
_STOP_ARCHIVER: Final = (
    "for one in /proc/[0-9]*; do if grep -qs '^postgres: archiver' $one/cmdline;"
    " then kill -STOP ${one#/proc/}; fi; done"
)
_LAST_CHANGE: Final = (
    'SELECT to_char(pg_last_xact_replay_timestamp(), \'YYYY-MM-DD"T"HH24:MI:SS"Z"\')'
)
_LAST_CHECKPOINT: Final = (
    "SELECT convert_from(note, 'UTF8') FROM log_heads WHERE note IS NOT NULL"
    " ORDER BY size DESC LIMIT 1"
)
_LIMITS = {"SHITHEAD_RATE_LIMITS": "off", "SHITHEAD_LOG_LEVEL": "warning"}


@dataclass(slots=True, kw_only=True)
class Drilled:
    """The steps of a drill and the results of its checks."""

    lossless: bool
    acknowledged: int = 0  # moves before the data folder was destroyed
    running: int = 0  # games that ran at that time
    lost: int = 0  # acknowledged moves that are missing afterwards
    aborted: int = 0  # games that a receipt of a player ended for that
    by_operator: int = 0  # games that went on until the operator handed in receipts
    seconds: float = 0.0  # from the loss to the first answer of `readyz`
    checked: Checked = field(default_factory=Checked)

    @property
    def text(self) -> str:
        """Return the result for the operator."""
        kind = "synchronous" if self.lossless else "stalled"
        after = f"ready again {self.seconds:.1f} s after the loss; {self.lost} moves missing"
        lines = [
            f"archive {kind}: {self.acknowledged} acknowledged moves, {self.running} running games",
            f"{after}, {self.aborted} games aborted by receipts of players",
            f"{self.by_operator} more by the operator, after their players had moved on",
            *(f"  {count} {name}" for name, count in sorted(self.checked.counts.items())),
            *(f"WRONG: {one}" for one in self.checked.wrong),
        ]
        return "\n".join(lines)


class Recoverable(Protocol):
    """A service that loses its data and is recovered from an archive, as the runbook says."""

    lossless: bool
    url: str

    @property
    def owner(self) -> str:
        """Return the address of the running database for its owner."""

    def start(self) -> None:
        """Start the service on an empty machine, with its archive; return once it is ready."""

    def keep(self) -> None:
        """Copy what the operator keeps elsewhere: the keys, and a checkpoint of the public log."""

    def stall(self) -> None:
        """Let acknowledged moves not reach the archive from now on."""

    def destroy(self) -> None:
        """Kill everything at once and remove the data; return once nothing is left."""

    def recover(self) -> None:
        """Recover the data from the archive, declare a loss, and start the service again."""

    def lost(self, receipts: Path) -> str:
        """Return the output of `admin lost` for a folder of receipts."""

    def stop(self) -> None:
        """End the service."""


class DataFolder:
    """`shithead up` with a data folder, archived by `--wal-archive`."""

    def __init__(self, folder: Path, archive: Path, *, lossless: bool) -> None:
        self.lossless = lossless
        self._folder = folder
        self._archive = archive
        self._data = folder / "data"
        self._keys = folder / "keys-copy.json"
        self._checkpoint = folder / "earlier.checkpoint"
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._up: subprocess.Popen[bytes] | None = None

    @property
    def owner(self) -> str:
        """Return the address of the running database for its owner."""
        address = running_address(self._data)
        assert address is not None, "PostgreSQL does not run"
        return address

    def start(self) -> None:
        """Start the service, and return once it is ready."""
        words = ["--data", str(self._data), "--port", str(self._port), "--workers", "1"]
        words += ["--wal-archive", str(self._archive)]
        words += ["--wal-archive-sync"] if self.lossless else []
        with (self._folder / "up.log").open("ab") as log:
            self._up = subprocess.Popen(
                [sys.executable, "-m", "service.cli", "up", *words],
                cwd=ROOT,
                env=_environment() | _LIMITS,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        end = time.monotonic() + START_SECONDS
        while (answer := readiness(f"127.0.0.1:{self._port}")) != "ready":
            if self._up.poll() is not None or time.monotonic() > end:
                log_text = (self._folder / "up.log").read_text(errors="replace")
                raise AssertionError(f"not ready: {answer}\n{log_text[-2000:]}")
            time.sleep(0.1)

    def keep(self) -> None:
        """Copy the keys and the first checkpoint that is signed; many follow before the loss."""
        end = time.monotonic() + START_SECONDS
        while not (self._data / "log.checkpoint").exists():
            assert time.monotonic() < end, "no checkpoint was signed"
            time.sleep(0.1)
        for suffix in ("", ".wal"):
            shutil.copy(self._data / f"log.checkpoint{suffix}", f"{self._checkpoint}{suffix}")
        shutil.copy(self._data / "keys.json", self._keys)

    def stall(self) -> None:
        """Stop the receiver of the archive, as on a dead line."""
        for pid in self._below("pg_receivewal"):
            os.kill(pid, signal.SIGSTOP)
        time.sleep(STALL_SECONDS)

    def destroy(self) -> None:
        """Kill everything at once, PostgreSQL included, and remove the data folder."""
        assert self._up is not None
        for pid in (self._up.pid, *self._below("")):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._up.wait()
        while self._data.exists():
            shutil.rmtree(self._data, ignore_errors=True)

    def recover(self) -> None:
        """Recover the data folder from the archive, and start the service with it."""
        words = ["--data", str(self._data), "--keys", str(self._keys)]
        words += ["--checkpoint", str(self._checkpoint)]
        answer = _command("recover", str(self._archive), *words)
        assert answer.returncode == 0, answer.stderr
        _say(answer.stdout.strip())
        self.start()

    def lost(self, receipts: Path) -> str:
        """Return the output of `admin lost` for a folder of receipts."""
        answer = _command("admin", "--data", str(self._data), "--yes", "lost", str(receipts))
        assert answer.returncode == 0, answer.stderr
        return answer.stdout

    def stop(self) -> None:
        """End the service."""
        if self._up is not None:
            self._up.terminate()
            self._up.wait(timeout=30)

    def _below(self, word: str) -> list[int]:
        assert self._up is not None
        return [pid for pid, command in below(self._up.pid) if word in command]


class Containers:
    """The containers of ops/compose.yaml, archived by pgBackRest: section 13 of the runbook."""

    lossless = False

    def __init__(self) -> None:
        port = free_port()
        self._password = secrets.token_hex(16)
        self.url = f"http://127.0.0.1:{port}"
        self._address = ("127.0.0.1", port)
        self._keys = self._checkpoint = ""
        self._composed = Composed(
            {
                "SERVERS_PASSWORD": self._password,
                "API_PORT": str(port),
                "STREAMS_PORT": str(free_port()),
                "SHITHEAD_RATE_LIMITS": "off",
                "PGBACKREST_STANZA": "shithead",
                "SHITHEAD_WAL_ARCHIVE": "archiver",
                "ARCHIVE_TIMEOUT": "5s",
            }
        )

    @property
    def owner(self) -> str:
        """Return the address of the running database for its owner."""
        address = self._composed.address_of("postgres")
        return f"postgresql://shithead:{self._password}@{address}/shithead"

    def start(self) -> None:
        """Start all containers, and take a base backup."""
        self._composed.compose("up", "-d", "--no-build")
        wait_ready(self._address)
        self._in("postgres", "pgbackrest", "stanza-create")
        self._in("postgres", "pgbackrest", "backup", "--type=full", "--repo1-retention-full=2")

    def keep(self) -> None:
        """Copy the keys and the first checkpoint that is signed; others follow before the loss."""
        self._keys = self._in("api", "cat", f"{_STATE}/keys.json")
        end = time.monotonic() + START_SECONDS
        while not self._checkpoint:
            assert time.monotonic() < end, "no checkpoint was signed"
            time.sleep(1.0)
            with contextlib.suppress(Unreachable):
                self._checkpoint = LogClient(self.url).checkpoint().decode()

    def stall(self) -> None:
        """Archive what there is, and stop the process of PostgreSQL that archives."""
        self._sql("SELECT pg_switch_wal()")
        self._sql("SELECT pg_sleep(2)")
        self._in("postgres", "sh", "-c", _STOP_ARCHIVER)
        time.sleep(STALL_SECONDS)

    def destroy(self) -> None:
        """Kill all containers, and remove the volumes of the database and of the state."""
        self._composed.lose()

    def recover(self) -> None:
        """Put the keys back, restore, declare the loss, and start all containers."""
        compose = self._composed.compose
        run = ("run", "--rm", "-T", "--no-deps", "--entrypoint")
        write = f"umask 077; cat > {_STATE}/"
        compose(*run, "sh", "api", "-c", f"{write}keys.json", given=self._keys)
        compose(*run, "pgbackrest", "postgres", "restore")
        compose("up", "-d", "--no-build", "postgres")
        end = time.monotonic() + START_SECONDS
        while self._is_recovering():
            assert time.monotonic() < end, "PostgreSQL is not promoted"
            time.sleep(0.5)
        restored = self._sql(_LAST_CHECKPOINT) + "\n"
        newest = max(restored, self._checkpoint, key=lambda note: int(note.splitlines()[1]))
        compose(*run, "sh", "api", "-c", f"{write}log.checkpoint", given=newest)
        since = self._sql(_LAST_CHANGE)
        self._composed.operate("check", "--deep")
        _say(self._composed.operate("admin", "--yes", "declare", since).strip())
        compose("up", "-d", "--no-build")
        wait_ready(self._address)

    def lost(self, receipts: Path) -> str:
        """Return the output of `admin lost` for a folder of receipts."""
        mounted = ("-v", f"{receipts}:/receipts:ro")
        words = ("migrate", "admin", "--yes", "lost", "/receipts")
        return self._composed.compose("run", "--rm", "-T", *mounted, *words)

    def stop(self) -> None:
        """Remove all containers and volumes."""
        self._composed.compose("down", "-v", "--timeout", "5")

    def _is_recovering(self) -> bool:
        try:
            return self._sql("SELECT pg_is_in_recovery()") != "f"
        except subprocess.CalledProcessError:
            return True

    def _sql(self, statement: str) -> str:
        psql = ("psql", "-h", "/tmp", "-U", "postgres", "-d", "shithead", "-tAc", statement)
        return self._in("postgres", *psql).strip()

    def _in(self, service: str, *words: str) -> str:
        return self._composed.compose("exec", "-T", service, *words)


class Drill:
    """One service with its archive, the load on it, a witness and a monitor."""

    def __init__(self, folder: Path, service: Recoverable, *, tables: int) -> None:
        self._folder = folder
        self._service = service
        self._notes = Notes()
        host, _, port = service.url.removeprefix("http://").partition(":")
        self._load = Load(
            self._notes, lambda: ((host, int(port)),), tables=tables, seed=11, readers=0
        )
        self._calls = self._load.calls(2)
        self.done = Drilled(lossless=service.lossless)

    def go(self, *, seconds: float) -> Drilled:
        """
        Play for some seconds, lose the data, recover, check.

        What is left: the archive, and copies of the keys and of a checkpoint.
        """
        service = self._service
        service.start()
        self._load.begin()
        service.keep()
        time.sleep(seconds)
        self._outside("before", allowed=())
        if not service.lossless:
            self._load.stop()
            time.sleep(1.0)  # tables that were being opened
            service.stall()
        lost_at = time.monotonic()
        service.destroy()
        with self._notes.lock:
            self.done.acknowledged = sum(r.status == 201 for r in self._notes.requests)
            self.done.running = len({r.game for r in self._notes.requests[-50:]})
        service.recover()
        self.done.seconds = time.monotonic() - lost_at
        if not service.lossless:
            self._declared()
        time.sleep(_PLAYED_AGAIN_SECONDS)
        self._load.end()
        found, before = check_all(service.owner, service.url, self._notes, ()), self.done.checked
        found.wrong += before.wrong
        found.counts.update(before.counts)
        self.done.checked = found
        self._outside("after", allowed=() if service.lossless else ("restored",))
        return self.done

    def stop(self) -> None:
        """End the load and the service."""
        self._load.stop()
        self._service.stop()

    def _declared(self) -> None:
        """Hand in the receipts of missing moves, as clients do; check that each is explained."""
        logs = stored(self._service.owner, Checked())
        with self._notes.lock:
            answered = [r for r in self._notes.requests if r.status == 201]
        lost = [request for request in answered if not holds(logs, request)]
        self.done.lost = len(lost)
        self.done.aborted = sum(map(self._hand_in, lost))
        folder = self._folder / "receipts"
        folder.mkdir()
        for number, request in enumerate(lost):
            note = json.loads(request.body)["receipt"]
            (folder / f"{number}.note").write_text(note)
        self.done.by_operator = self._service.lost(folder).count("done: lost")
        self._check_explained(lost, stored(self._service.owner, Checked()))
        with self._notes.lock:
            self._notes.requests[:] = [r for r in self._notes.requests if r not in lost]

    def _hand_in(self, request: ChangeRequest) -> bool:
        """Hand in the receipt of a missing move as a player; return whether that ended the game."""
        receipt, token = json.loads(request.body)["receipt"], self._notes.games[request.game]
        path, body = f"/v1/games/{request.game}/receipts", {"receipt": receipt}
        status, answer = self._calls.until_answered("POST", path, body, token, key=new_key())
        if status not in (201, 409):
            self._notes.wrong.append(f"the receipt of a missing move: {status} {answer!r}")
        return status == 201

    def _check_explained(self, lost: list[ChangeRequest], logs: Logs) -> None:
        """Check that a receipt of a missing move still fails, beside the declaration."""
        found = LogClient(self._service.url).key_list()
        keys = tuple(key.verifier for key in found.keys)
        restores = tuple(note.encode() for note in found.restores)
        for note in restores:
            open_restore(note, keys)
        for request in lost:
            receipt = json.loads(request.body)["receipt"].encode()
            evidence = OutsideEvidence(receipts=(receipt,), server_keys=keys, restores=restores)
            report = verify_bundle(Bundle(lines=logs[UUID(request.game)]), evidence)
            [finding] = [one for one in report.findings if one.check is Check.RECEIPTS]
            if finding.result is not Result.FAIL:
                self._notes.wrong.append(f"a receipt of a missing move passes: {request.game}")
            if "receipts.restored" not in {note.code for note in finding.notes}:
                self._notes.wrong.append(f"a missing move of {request.game} is not explained")

    def _outside(self, when: str, *, allowed: tuple[str, ...]) -> None:
        """Let a witness and a monitor follow the log; only findings of `allowed` kinds may be."""
        witness = ["--key", str(self._folder / "w.key"), "--state", str(self._folder / "w.state")]
        answer = _command(
            "witness", "--log", self._service.url, *witness, "--name", "drill.example/w", "--once"
        )
        if answer.returncode:
            self.done.checked.wrong.append(f"the witness, {when}: {answer.stdout}{answer.stderr}")
        state = str(self._folder / "m.state")
        answer = _command("monitor", "--log", self._service.url, "--state", state, "--once")
        found = {line.partition(":")[0] for line in answer.stdout.splitlines()}
        if found != set(allowed) or answer.returncode != bool(allowed):
            text = answer.stdout + answer.stderr
            self.done.checked.wrong.append(f"the monitor, {when}: {text}")
        self.done.checked.counts[f"monitor and witness agree, {when}"] += 1


def _command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "service.cli", *words],
        cwd=ROOT,
        env=_environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def _environment() -> dict[str, str]:
    """Return our environment without settings: the drill is of the defaults."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("SHITHEAD_")}
    return ours | {"PYTHONPATH": str(ROOT)}


def _say(text: str) -> None:
    print(text, flush=True)


def drill(*, lossless: bool, tables: int, seconds: float, archive: Path | None = None) -> Drilled:
    """Run one drill in temporary folders, and return its result."""
    with _folder() as folder:
        service = DataFolder(folder, archive or folder / "archive", lossless=lossless)
        return _drilled(Drill(folder, service, tables=tables), seconds)


def drill_in_containers(*, tables: int, seconds: float) -> Drilled:
    """Run one drill of ops/compose.yaml with pgBackRest, and return its result."""
    with _folder() as folder:
        return _drilled(Drill(folder, Containers(), tables=tables), seconds)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="drill-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _drilled(one: Drill, seconds: float) -> Drilled:
    try:
        return one.go(seconds=seconds)
    finally:
        one.stop()


def main() -> int:
    """Run the drills; return 1 if a check failed."""
    parser = argparse.ArgumentParser(prog="ops/drill", description=__doc__)
    parser.add_argument("--tables", type=int, default=8, help="played at the same time (8)")
    parser.add_argument("--seconds", type=float, default=20, help="of play before the loss (20)")
    parser.add_argument("--archive", type=Path, help="empty folder on another disk")
    parser.add_argument(
        "--containers", action="store_true", help="ops/compose.yaml and pgBackRest instead"
    )
    options = parser.parse_args()
    if options.containers:
        if (reason := missing_for_containers()) is not None:
            parser.error(reason)
        done = drill_in_containers(tables=options.tables, seconds=options.seconds)
        print(done.text, flush=True)
        return 1 if done.checked.wrong else 0
    failed = False
    for lossless in (True, False):
        place = options.archive and options.archive / ("sync" if lossless else "stalled")
        done = drill(
            lossless=lossless, tables=options.tables, seconds=options.seconds, archive=place
        )
        print(done.text, flush=True)
        failed = failed or bool(done.checked.wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
