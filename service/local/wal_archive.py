"""Archive of the embedded PostgreSQL: its WAL as it is written, and base backups by schedule."""

from __future__ import annotations

import math
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import psycopg

from service.local.console import report
from service.local.processes import (
    EmbeddedError,
    log_tail,
    make_folder,
    start_child,
    stop_child,
)
from service.local.servers import EmbeddedPostgres
from service.runtime.atomic_files import PRIVATE, write_whole

SLOT: Final = "shithead_archive"
"""The replication slot of the archive: PostgreSQL keeps all WAL that the archive lacks."""

BASE_BACKUP_SECONDS: Final = 86_400.0
"""Seconds between two base backups: a restore replays the WAL of at most this time."""

BASE_BACKUPS_KEPT: Final = 2
"""Base backups that are retained, with all WAL since the older of them."""

_RETRY_SECONDS: Final = 600.0  # after a base backup that failed
_PAUSE_SECONDS: Final = 1.0  # before pg_receivewal is started again; twice as long each time
_LONGEST_PAUSE: Final = 60.0  # as while the disk of the archive is full
_STEADY_SECONDS: Final = 30.0  # of running, after which the pause is the shortest again
_CONNECT_SECONDS: Final = 20.0  # for it to connect at the start
_STATUS_SECONDS: Final = 5  # between two messages of it to PostgreSQL
_LOOK_SECONDS: Final = 5.0  # between two looks at the time of the last message
HUNG_SECONDS: Final = 20.0
"""Without a message of pg_receivewal to PostgreSQL; then it is killed and started again."""

_REPLY: Final = """
SELECT extract(epoch FROM clock_timestamp() - reply_time)
FROM pg_stat_replication WHERE application_name = %s
"""
_TIME: Final = "%Y%m%dT%H%M%SZ"  # of the name of a base backup: when it began
_PARTIAL: Final = ".partial"
_SEGMENT: Final = re.compile(r"([0-9A-F]{24})(\.partial)?")
SEGMENT_BYTES: Final = 16 << 20
"""Bytes of a segment of WAL, in a cluster made by initdb without another size."""

_SWITCH: Final = re.compile(r"\s*(\d+)\s+([0-9A-F]+/[0-9A-F]+)")  # line of a timeline's history
_RECORD: Final = re.compile(r", lsn: [0-9A-F]+/([0-9A-F]+), prev ")
_RECORD_HEADER: Final = 24  # bytes, with the checksum of the record
_START: Final = re.compile(r"START WAL LOCATION: \S+ \(file ([0-9A-F]{24})\)")

_TAKE: Final = '"$1/pg_basebackup" -D "$2" -c "$3" && "$1/pg_verifybackup" -q "$2"'


class ArchiveFolder:
    """
    The files of an archive: `wal/`, and a folder below `base/` for each complete base backup.

    `synchronous` is there while no change is acknowledged before it is in the archive, and
    `system` names the database cluster.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.wal = path / "wal"
        self.base = path / "base"
        self.synchronous = path / "synchronous"
        self.system = path / "system"

    def base_backups(self, until: datetime | None = None) -> list[Path]:
        """Return the folders of the base backups that began before `until`, oldest first."""
        latest = math.inf if until is None else until.timestamp()
        found = ((folder, _begun(folder)) for folder in self.base.glob("*Z"))
        return sorted(folder for folder, begun in found if begun is not None and begun < latest)

    def newest(self) -> float | None:
        """Return when the newest base backup began, in seconds since 1970; None without one."""
        found = self.base_backups()
        return _begun(found[-1]) if found else None

    def segments(self) -> dict[str, Path]:
        """Return the files of WAL segments and timelines by their names, complete ones first."""
        files = {path.name: path for path in self.wal.glob("*") if path.is_file()}
        found = {
            name: path
            for name, path in files.items()
            if (_SEGMENT.fullmatch(name) and not name.endswith(_PARTIAL))
            or name.endswith(".history")
        }
        for name, path in files.items():
            match = _SEGMENT.fullmatch(name)
            if match is not None:
                found.setdefault(match[1], path)
        return found

    def newest_segment(self) -> str | None:
        """Return the name of the last segment on the newest timeline; None without one."""
        names = list(self.segments())
        newest = max((int(name[:8], 16) for name in names), default=0)
        found = [one for one in names if _SEGMENT.fullmatch(one) and int(one[:8], 16) == newest]
        return max(found, default=None)

    def ends_open(self) -> bool:
        """
        Return whether the last segment is one that pg_receivewal was still writing.

        It begins the next one with the next record, so without it the end was cut off.
        """
        last = self.newest_segment()
        path = None if last is None else self.segments()[last]
        return path is not None and path.name.endswith(_PARTIAL) and _is_whole(path)

    def missing(self, base: Path) -> list[str]:
        """
        Return the names of files that are missing or cut off between a base backup and the end.

        PostgreSQL would end its recovery at the first of them, as if nothing followed.
        """
        files, last = self.segments(), self.newest_segment()
        first = _START.match((base / "backup_label").read_text())
        if first is None or last is None:
            return []
        oldest, newest = int(first[1][:8], 16), int(last[:8], 16)
        wanted = [f"{timeline:08X}.history" for timeline in range(oldest + 1, newest + 1)]
        begins = {oldest: 0} | self._begins(f"{newest:08X}.history")
        for number in range(segment_number(first[1]), segment_number(last) + 1):
            timeline = max(one for one, begin in begins.items() if begin <= number)
            wanted.append(f"{timeline:08X}{number >> 8:08X}{number & 0xFF:08X}")
        return [name for name in wanted if not _is_readable(files.get(name), is_last=name == last)]

    def _begins(self, history: str) -> dict[int, int]:
        """Return the number of the segment in which each timeline of a history begins."""
        path = self.segments().get(history)
        lines = [] if path is None else path.read_text().splitlines()
        found = [_SWITCH.match(line) for line in lines]
        switches = [(int(one[1]), lsn_of(one[2]) // SEGMENT_BYTES) for one in found if one]
        names = [*(timeline for timeline, _ in switches[1:]), int(history[:8], 16)]
        return dict(zip(names, (begin for _, begin in switches), strict=False))

    def prune(self, binaries: Path) -> None:
        """Delete base backups beyond BASE_BACKUPS_KEPT, and the WAL that only they need."""
        complete = self.base_backups()
        for old in complete[:-BASE_BACKUPS_KEPT]:
            shutil.rmtree(old)
        oldest = complete[-BASE_BACKUPS_KEPT:][0]
        first = _START.match((oldest / "backup_label").read_text())
        if first is not None:
            subprocess.run(
                [binaries / "pg_archivecleanup", self.wal, first[1]],
                check=False,
                capture_output=True,
            )


def lsn_of(text: str) -> int:
    """Return a position of the WAL, as PostgreSQL writes it, as a number of bytes."""
    high, _, low = text.partition("/")
    return int(high, 16) << 32 | int(low, 16)


def segment_number(name: str) -> int:
    """Return the place of a segment in the WAL, which is the same on each timeline."""
    return int(name[8:16], 16) << 8 | int(name[16:24], 16)


def _is_readable(file: Path | None, *, is_last: bool) -> bool:
    """Return whether a file of the WAL is there up to its end, which only the last one lacks."""
    if file is None or file.suffix == ".history":
        return file is not None
    return is_last if file.suffix == _PARTIAL else _is_whole(file)


def _is_whole(segment: Path) -> bool:
    return segment.stat().st_size == SEGMENT_BYTES


def check_archive(folder: Path, *, of_new: bool) -> None:
    """
    Raise EmbeddedError if a folder cannot be the archive of a server, before that is started.

    `of_new`: the server has no cluster yet, so the archive of any other is that of another one.
    """
    files = ArchiveFolder(folder)
    if files.system.exists():
        if of_new:
            raise _of_another(folder)
    elif files.segments() or files.base_backups():
        raise EmbeddedError(f"{folder} has no file system: it is no archive")


def _of_another(folder: Path) -> EmbeddedError:
    return EmbeddedError(f"{folder} is the archive of another database: name an empty folder")


def _begun(folder: Path) -> float | None:
    try:
        return datetime.strptime(folder.name, _TIME).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


class WalArchive:
    """
    Archives one embedded server into a folder, which should be on another disk.

    pg_receivewal writes the WAL as it is flushed. With `synchronous` a change is acknowledged only
    once it is in the archive too. The first base backup is complete before `start` returns, because
    without one the WAL restores nothing. A pg_receivewal that hangs is replaced: with `synchronous`
    every change would wait for it.
    """

    name = "WAL archive"

    def __init__(
        self,
        folder: Path,
        server: EmbeddedPostgres,
        *,
        synchronous: bool = False,
        every: float = BASE_BACKUP_SECONDS,
    ) -> None:
        self._files = ArchiveFolder(folder)
        self._server = server
        self._synchronous = synchronous
        self._every = every
        self._log = server.logs / "archive.log"
        self._receiver: subprocess.Popen[bytes] | None = None
        self._taking: tuple[subprocess.Popen[bytes], Path] | None = None
        self._pause = _PAUSE_SECONDS  # before it is started again after an early end
        self._due = 0.0  # when pg_receivewal is started again, monotonic
        self._received = 0.0  # when it was started, monotonic
        self._look = 0.0  # when the time of its last message is read again, monotonic
        self._counted = 0.0  # when the files of the archive are looked at again, monotonic
        self._missing: set[str] = set()  # at the last look
        self._retry = 0.0  # before which no base backup is taken, monotonic

    @property
    def newest(self) -> float | None:
        """Return when the newest base backup began, in seconds since 1970."""
        return self._files.newest()

    def start(self) -> None:
        """Archive from now on; raises EmbeddedError if the folder cannot continue this server."""
        for program in ("pg_receivewal", "pg_basebackup", "pg_verifybackup", "pg_waldump"):
            if not (self._server.binaries / program).exists():
                raise EmbeddedError(f"{self._server.binaries} has no {program}")
        for folder in (self._files.path, self._files.wal, self._files.base):
            make_folder(folder)
        for left in self._files.base.glob(f"*{_PARTIAL}"):
            shutil.rmtree(left)
        with _owner(self._server) as connection:
            self._check_cluster(connection)
            if not _slot_exists(connection):
                self._check_gap(connection)
                connection.execute("SELECT pg_create_physical_replication_slot(%s, true)", [SLOT])
            self._check_not_ahead(connection)
            self._receive()
            self._set_synchronous(connection)
        if self._files.newest() is None:
            self._taking = self._take("fast")
            self._finish(self._taking, wait=True)

    def supervise(self) -> list[str]:
        """Take due base backups, restart pg_receivewal; return the names of what had ended."""
        if self._taking is not None and self._taking[0].poll() is not None:
            self._finish(self._taking, wait=False)
        newest, now = self._files.newest(), time.monotonic()
        is_due = newest is None or time.time() - newest >= self._every
        is_due |= self._has_lost_wal(now)
        is_due &= self._files.system.exists()  # else the disk is missing, and this is another one
        if is_due and self._taking is None and now >= self._retry and self._is_up():
            self._taking = self._take("spread")
        receiver = self._receiver
        if receiver is None or not self._is_up():
            return []
        if receiver.poll() is None and now >= self._look:
            self._look = now + _LOOK_SECONDS
            if self._is_silent():
                report("the WAL archive hangs and is killed")
                receiver.kill()
        if receiver.poll() is None or now < self._due:
            return []
        report(f"the {self.name} ended; restarting it")
        is_early = now - self._received < _STEADY_SECONDS
        self._pause = min(2 * self._pause, _LONGEST_PAUSE) if is_early else _PAUSE_SECONDS
        self._receive()
        return [self.name]

    def _has_lost_wal(self, now: float) -> bool:
        """
        Return whether files of the archive are gone: only another base backup makes it usable.

        They have to be missing twice, because pg_receivewal renames each segment that is full.
        """
        if now < self._counted or self._taking is not None:
            return False
        self._counted = now + _LOOK_SECONDS
        try:
            missing = self._files.missing(self._files.base_backups()[-1])
        except (OSError, IndexError):
            return False
        lost, self._missing = set(missing) & self._missing, set(missing)
        if lost:
            report(f"the WAL archive lacks {min(lost)}: a base backup is taken")
        return bool(lost)

    def _is_silent(self) -> bool:
        """Return whether PostgreSQL answers and pg_receivewal has sent it nothing for too long."""
        try:
            with psycopg.connect(self._server.url, connect_timeout=2) as connection:
                found = connection.execute(_REPLY, [SLOT]).fetchone()
        except psycopg.Error:
            return False
        return found is None or found[0] > HUNG_SECONDS

    def stop(self) -> None:
        """Stop; pg_receivewal ends by itself after a server that has sent it all its WAL."""
        if self._taking is not None:
            stop_child(self._taking[0], [])
            shutil.rmtree(self._taking[1], ignore_errors=True)
        if self._receiver is not None:
            stop_child(self._receiver, [(signal.SIGINT, 5.0)])

    def _is_up(self) -> bool:
        process = self._server.process
        return process is not None and process.poll() is None

    def _check_cluster(self, connection: psycopg.Connection[Any]) -> None:
        """Raise EmbeddedError for the archive of another cluster; note the one of a new archive."""
        row = connection.execute("SELECT system_identifier FROM pg_control_system()").fetchone()
        ours = str(row[0]) if row else ""
        check_archive(self._files.path, of_new=False)
        if not self._files.system.exists():
            write_whole(self._files.system, ours.encode(), mode=PRIVATE)
        if self._files.system.read_text() != ours:
            raise _of_another(self._files.path)

    def _check_gap(self, connection: psycopg.Connection[Any]) -> None:
        """Raise EmbeddedError if the server no longer has the WAL after that in the archive."""
        last = max(
            (name for name in self._files.segments() if _SEGMENT.fullmatch(name)), default=""
        )
        if not last:
            return
        rows = connection.execute("SELECT name FROM pg_ls_waldir()").fetchall()
        if last not in {name for (name,) in rows}:
            raise EmbeddedError(
                f"WAL after {last} was never archived in {self._files.path}: the service has run "
                "without it. Name an empty folder, and keep this one until it has a base backup"
            )

    def _check_not_ahead(self, connection: psycopg.Connection[Any]) -> None:
        """
        Raise EmbeddedError if the archive has WAL that the server lacks, as after its folder was
        set back to an old copy: pg_receivewal would overwrite it.

        The last complete record in the archive was flushed by the server, so the server has the
        same bytes up to it, also after a crash. What follows can be a part of a record.
        """
        row = connection.execute("SELECT pg_walfile_name(pg_current_wal_flush_lsn())").fetchone()
        timeline = str(row[0])[:8] if row else ""
        segments = self._files.segments()
        for name in sorted(filter(_SEGMENT.fullmatch, segments), reverse=True)[:2]:
            if name[:8] < timeline:
                return  # this server was recovered from all of it
            place = last_record(self._server.binaries, name, segments[name])
            if place is None:
                continue  # it begins with a part of a record
            ours, size = self._server.data / "pg_wal" / name, place + _RECORD_HEADER
            if not ours.exists() or _beginning(ours, size) != _beginning(segments[name], size):
                raise EmbeddedError(
                    f"{self._files.path} is ahead of the database, whose folder was set back: "
                    f"recover it with `shithead recover {self._files.path} --data NEW`"
                )
            return

    def _receive(self) -> None:
        self._received = time.monotonic()
        self._due = self._received + self._pause
        self._look = time.monotonic() + HUNG_SECONDS  # until then it connects
        program = self._server.binaries / "pg_receivewal"
        options = ["--synchronous", "--no-loop", f"--status-interval={_STATUS_SECONDS}"]
        self._receiver = start_child(
            [program, "-D", self._files.wal, "--slot", SLOT, *options],
            log=self._log,
            environment=self._server.client_environment | {"PGAPPNAME": SLOT},
            folder=Path("/"),
            by_lines=True,
        )

    def _set_synchronous(self, connection: psycopg.Connection[Any]) -> None:
        """Let PostgreSQL wait for the archive before it acknowledges a change, or not."""
        if not self._synchronous:
            self._files.synchronous.unlink(missing_ok=True)
            _wait_for_archive(connection, wanted=False)
            return
        _wait_for_archive(connection, wanted=True)
        end = time.monotonic() + _CONNECT_SECONDS
        question = "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'"
        while connection.execute(question).fetchone() is None:
            if time.monotonic() > end or (self._receiver and self._receiver.poll() is not None):
                raise EmbeddedError(f"pg_receivewal does not start:\n{log_tail(self._log)}")
            time.sleep(0.05)
        write_whole(self._files.synchronous, b"", mode=PRIVATE)

    def _take(self, checkpoint: str) -> tuple[subprocess.Popen[bytes], Path]:
        """Begin a base backup in a folder that gets its name once it is complete and verified."""
        while (complete := self._files.base / f"{datetime.now(UTC):{_TIME}}").exists():
            time.sleep(0.1)  # until the second of the previous one is over
        target = complete.with_name(complete.name + _PARTIAL)
        arguments: list[str | Path] = ["sh", self._server.binaries, target, checkpoint]
        child = start_child(
            ["/bin/sh", "-c", _TAKE, *arguments],
            log=self._log,
            environment=self._server.client_environment,
            folder=Path("/"),
            by_lines=True,
        )
        return child, target

    def _finish(self, taking: tuple[subprocess.Popen[bytes], Path], *, wait: bool) -> None:
        """Name a base backup that is complete; raises EmbeddedError for the first one only."""
        child, target = taking
        status = child.wait()
        self._taking = None
        if status == 0:
            target.rename(target.with_suffix(""))
            self._files.prune(self._server.binaries)
            return
        shutil.rmtree(target, ignore_errors=True)
        message = f"the base backup failed:\n{log_tail(self._log)}"
        if wait:
            raise EmbeddedError(message)
        report(message)
        self._retry = time.monotonic() + _RETRY_SECONDS


def last_record(binaries: Path, name: str, segment: Path) -> int | None:
    """Return where in a WAL segment its last complete record begins; None without one."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / name  # the name tells the program which part of the WAL it is
        place.symlink_to(segment.absolute())
        answer = subprocess.run(
            [binaries / "pg_waldump", place], capture_output=True, text=True, check=False
        )
    found = _RECORD.findall(answer.stdout)
    return int(found[-1], 16) % SEGMENT_BYTES if found else None


def _beginning(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        return file.read(size)


def release(server: EmbeddedPostgres) -> None:
    """Let a server that is not archived any more keep no WAL for the archive, nor wait for it."""
    with _owner(server) as connection:
        if _slot_exists(connection):
            _wait_for_archive(connection, wanted=False)
            connection.execute("SELECT pg_drop_replication_slot(%s)", [SLOT])
            print("not archived any more: --wal-archive is missing", file=sys.stderr, flush=True)


@contextmanager
def _owner(server: EmbeddedPostgres) -> Iterator[psycopg.Connection[Any]]:
    try:
        with psycopg.connect(server.url, autocommit=True) as connection:
            yield connection
    except psycopg.Error as error:
        raise EmbeddedError(f"the archive cannot be set up: {error}") from None


def _slot_exists(connection: psycopg.Connection[Any]) -> bool:
    question = "SELECT FROM pg_replication_slots WHERE slot_name = %s"
    return connection.execute(question, [SLOT]).fetchone() is not None


def _wait_for_archive(connection: psycopg.Connection[Any], *, wanted: bool) -> None:
    """Set whether commits wait for the archive; nothing else commits yet when this is called."""
    value = f"'{SLOT}'" if wanted else "''"
    connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = {value}".encode())
    connection.execute("SELECT pg_reload_conf()")
