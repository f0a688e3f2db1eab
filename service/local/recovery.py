"""Recovery: a new cluster from the newest base backup of an archive and all WAL after it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import psycopg

from service.local.processes import EmbeddedError
from service.local.servers import EmbeddedPostgres
from service.local.wal_archive import (
    SEGMENT_BYTES,
    ArchiveFolder,
    last_record,
    lsn_of,
    segment_number,
)
from service.public_log.signed_checkpoints import WalPosition

_RECOVERY: Final = "recovery.signal"
_PAGE: Final = 8192  # bytes of WAL between two page headers
_PAGE_HEADER, _SEGMENT_HEADER = 24, 40  # bytes; the latter on the first page of a segment
_RECORD_HEADER: Final = 24  # bytes of the shortest record


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """A recovered database, which runs, and the extent of the recovery."""

    url: str  # as the owner
    base: str  # the name of the base backup
    until: datetime  # of the last change that was recovered, by the clock of the lost database
    cluster: str  # its system identifier
    end: str  # the position at which the WAL ended
    faults: tuple[str, ...] = ()  # why the archive alone does not show that nothing is missing

    def doubts(self, leaves: int | None, known: Sequence[WalPosition]) -> list[str]:
        """
        Return why changes that were acknowledged may be missing; an empty list if they are not.

        `leaves` is the size of the newest checkpoint that the operator has, and `known` are the
        positions of the WAL that the archive had before the operator's checkpoints were signed.
        """
        found = list(self.faults)
        ours = [one for one in known if one.cluster == self.cluster]
        if leaves is None:
            found.append("no --checkpoint shows how far the archive must reach")
        elif not any(one.leaves >= leaves for one in ours):
            found.append(f"the checkpoint of {leaves} leaves has no position of the WAL beside it")
        furthest = max((one.position for one in ours), key=lsn_of, default="0/0")
        if lsn_of(furthest) > lsn_of(self.end):
            found.append(f"the archive had WAL up to {furthest}, and now ends at {self.end}")
        return found


@contextmanager
def recovered(archive: Path, data: Path, *, until: datetime | None = None) -> Iterator[Recovered]:
    """
    Recover a cluster into `data`, and yield it while it runs; the caller removes a failed one.

    With `until` it is as it was at that time, for comparisons; the service cannot go on from there.

    The archive is only read. The cluster begins a new timeline, so it can be archived in the same
    folder, and a cluster that is recovered later takes the newest one.

    Raises EmbeddedError if `data` has a cluster, or the archive has no usable base backup, lacks
    WAL before its end, or does not reach to `until`.
    """
    server = EmbeddedPostgres(data)
    if server.data.exists():
        raise EmbeddedError(f"{data} already has a database: name a new folder with --data")
    files = ArchiveFolder(archive)
    base = _usable(files, server.binaries, until)
    if until is None:
        _refuse_gap(files, base)
    draft = server.data.with_name("cluster.draft")
    shutil.rmtree(draft, ignore_errors=True)
    shutil.copytree(base, draft, symlinks=True)
    for name, path in files.segments().items():
        shutil.copyfile(path, draft / "pg_wal" / name)
    (draft / _RECOVERY).touch()
    draft.rename(server.data)
    try:
        url = server.recover(until)
        last_change, end, cluster = _extent(url)
        if until is None:
            _refuse_unread(files, server.binaries, end)
        yield Recovered(
            url=url,
            base=base.name,
            until=last_change or datetime.fromtimestamp(files.newest() or 0.0, UTC),
            cluster=cluster,
            end=end,
            faults=tuple(_faults(files, end)),
        )
    finally:
        server.stop()


def _usable(files: ArchiveFolder, binaries: Path, until: datetime | None) -> Path:
    """Return the newest base backup, of those before `until`, whose files were not changed."""
    faults = []
    for base in reversed(files.base_backups(until)):
        command: list[str | Path] = [binaries / "pg_verifybackup", "-q", "-n", base]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode == 0:
            return base
        faults.append(f"{base}: {answer.stderr.strip()}")
    raise EmbeddedError("\n".join([f"{files.path} has no usable base backup", *faults]))


def _refuse_gap(files: ArchiveFolder, base: Path) -> None:
    """Raise EmbeddedError if WAL is missing between a base backup and the newest segment."""
    missing = files.missing(base)
    if missing:
        more = f" and {len(missing) - 1} more" if missing[1:] else ""
        raise EmbeddedError(
            f"{files.wal} lacks {missing[0]}{more}, or has only a part of it, and goes on to "
            f"{files.newest_segment()}: copy it from elsewhere, or see section 13 of the runbook"
        )


def _refuse_unread(files: ArchiveFolder, binaries: Path, end: str) -> None:
    """Raise EmbeddedError if the replay ended before the last segment, at a damaged one."""
    last, position = files.newest_segment(), lsn_of(end)
    if last is None or (position - 1) // SEGMENT_BYTES >= segment_number(last):
        return
    if last_record(binaries, last, files.segments()[last]) is None:
        return  # it has no whole record yet
    raise EmbeddedError(
        f"the WAL in {files.wal} is damaged at {end}, and goes on to {last}: copy the segment "
        "from elsewhere, or see section 13 of the runbook"
    )


def _faults(files: ArchiveFolder, end: str) -> Iterator[str]:
    """Yield why an archive without a gap may lack changes that were acknowledged."""
    last = files.newest_segment()
    if not files.synchronous.exists():
        yield "changes were acknowledged before they were in the archive"
    if last is None or not files.ends_open():
        yield "the archive ends between two segments, so its end may be cut off"
    elif _is_damaged_after(files.segments()[last], end):
        yield f"the last segment, {last}, has more WAL after {end}, which is damaged"


def _is_damaged_after(segment: Path, end: str) -> bool:
    """Return whether the last segment goes on behind the record that would begin at `end`."""
    written, place = segment.read_bytes().rstrip(b"\0"), lsn_of(end) % SEGMENT_BYTES
    if place % _PAGE == 0:
        place += _PAGE_HEADER if place else _SEGMENT_HEADER
    left = int.from_bytes(written[place : place + 4], "little")
    if left < _RECORD_HEADER:
        return len(written) > place
    while left > (room := _PAGE - place % _PAGE):  # it goes on behind the header of a page
        left, place = left - room, place + room + _PAGE_HEADER
    return len(written) > place + left


def _extent(url: str) -> tuple[datetime | None, str, str]:
    """Return the time of the last change that was replayed, the end of the WAL, and the cluster."""
    question = (
        "SELECT pg_last_xact_replay_timestamp(), pg_last_wal_replay_lsn(), system_identifier"
        " FROM pg_control_system()"
    )
    with psycopg.connect(url) as connection:
        [(last, end, cluster)] = connection.execute(question).fetchall()
    return None if last is None else last.astimezone(UTC), str(end), str(cluster)
