"""Recovery: a new cluster from the newest base backup of an archive and all WAL after it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import psycopg

from service.local.processes import EmbeddedError
from service.local.servers import EmbeddedPostgres
from service.local.wal_archive import ArchiveFolder

_RECOVERY: Final = "recovery.signal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """A recovered database, which runs, and the extent of the recovery."""

    url: str  # as the owner
    base: str  # the name of the base backup
    until: datetime  # of the last change that was recovered, by the clock of the lost database
    synchronous: bool  # every acknowledged change was in the archive


@contextmanager
def recovered(archive: Path, data: Path, *, until: datetime | None = None) -> Iterator[Recovered]:
    """
    Recover a cluster into `data`, and yield it while it runs; the caller removes a failed one.

    With `until` it is as it was at that time, for comparisons; the service cannot go on from there.

    The archive is only read. The cluster begins a new timeline, so it can be archived in the same
    folder, and a cluster that is recovered later takes the newest one.

    Raises EmbeddedError if `data` has a cluster, or the archive has no usable base backup, or does
    not reach to `until`.
    """
    server = EmbeddedPostgres(data)
    if server.data.exists():
        raise EmbeddedError(f"{data} already has a database: name a new folder with --data")
    files = ArchiveFolder(archive)
    base = _usable(files, server.binaries, until)
    draft = server.data.with_name("cluster.draft")
    shutil.rmtree(draft, ignore_errors=True)
    shutil.copytree(base, draft, symlinks=True)
    for name, path in files.segments().items():
        shutil.copyfile(path, draft / "pg_wal" / name)
    (draft / _RECOVERY).touch()
    draft.rename(server.data)
    try:
        url = server.recover(until)
        yield Recovered(
            url=url,
            base=base.name,
            until=_last_change(url) or datetime.fromtimestamp(files.newest() or 0.0, UTC),
            synchronous=files.synchronous.exists(),
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


def _last_change(url: str) -> datetime | None:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT pg_last_xact_replay_timestamp()").fetchone()
    return None if row is None or row[0] is None else row[0].astimezone(UTC)
