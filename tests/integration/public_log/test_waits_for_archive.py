"""A checkpoint is published only once the WAL that it rests on is archived."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from service.public_log.log import PublicLog
from service.public_log.signed_checkpoints import (
    SignedFile,
    WalPosition,
    position_beside,
    size_of,
)
from service.runtime.telemetry import WAL_ARCHIVED
from service.store.database import Database
from service.store.public_log import PostgresLog, PostgresWal
from tests.integration.public_log.test_sequencer import add_games, games_in
from tests.worlds.fake_log import Reader, sequencer_of
from workers.sequencer import ArchiveAge


class SlowArchive:
    """An archive that holds the WAL up to where a test has let it come."""

    archive = "slow"

    def __init__(self) -> None:
        self.written = self.archived = 0

    def position(self) -> str:
        self.written += 1
        return str(self.written)

    def cluster(self) -> str:
        return "7"

    def holds(self, position: str) -> bool:
        return int(position) <= self.archived

    def catch_up(self) -> None:
        self.archived = self.written


def test_a_head_is_published_once_the_archive_holds_it(
    database: Database, store: PostgresLog, reader: Reader
) -> None:
    """The log grows behind the archive, a batch at a time; games that are dealt meanwhile wait."""
    archive = SlowArchive()
    sequencer = sequencer_of(store, wal=archive)
    first = add_games(database, 2)
    assert sequencer.run_once() == 0, "the empty tree is not in the archive either"
    assert PublicLog(store).checkpoint() is None
    archive.catch_up()
    assert sequencer.run_once() == 2
    later = add_games(database, 1)
    assert sequencer.run_once() == 0
    reader.read()
    assert games_in(reader) == []
    archive.catch_up()
    assert sequencer.run_once() == 1
    reader.read()
    assert games_in(reader) == first
    archive.catch_up()
    sequencer.run_once()
    reader.read()
    assert games_in(reader) == first + later


def test_the_position_that_the_archive_held_is_stored_beside_the_checkpoint(
    database: Database, store: PostgresLog, tmp_path: Path
) -> None:
    """With it `recover` sees whether an archive still reaches as far; without an archive none."""
    file, archive = tmp_path / "log.checkpoint", SlowArchive()
    sequencer = sequencer_of(store, wal=archive, signed=SignedFile(file))
    add_games(database, 1)
    for _ in range(3):
        sequencer.run_once()
        archive.catch_up()
    assert position_beside(file) == WalPosition(leaves=1, cluster="7", position="2")
    add_games(database, 1)
    sequencer_of(store, signed=SignedFile(file)).run_once()
    assert size_of(file.read_bytes()) == 2
    left = position_beside(file)
    assert left is not None
    assert left.leaves == 1, "that of an earlier checkpoint shows nothing about this one"


def test_another_sequencer_waits_as_well(database: Database, store: PostgresLog) -> None:
    archive = SlowArchive()
    archive.archived = 1 << 30
    sequencer_of(store, wal=archive).run_once()
    add_games(database, 1)
    sequencer_of(store).append()
    archive.archived = 0
    other = sequencer_of(store, wal=archive)
    add_games(database, 1)
    assert other.run_once() == 0
    assert store.head().size == 1, "nothing is appended to a tree that waits"
    assert store.head().note is None


@pytest.fixture
def slot(database_url: str) -> Iterator[str]:
    """Return a physical replication slot, as pg_receivewal has one."""
    name = f"test_{uuid4().hex[:16]}"
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("SELECT pg_create_physical_replication_slot(%s, true)", [name])
        yield name
        owner.execute("SELECT pg_drop_replication_slot(%s)", [name])


def test_the_slot_of_an_archive_states_what_it_holds(
    database: Database, database_url: str, slot: str
) -> None:
    """The service's role may ask for it, and the metric follows what is archived."""
    wal = PostgresWal(database, slot)
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("SELECT txid_current(), pg_switch_wal()")
        position = wal.position()
        assert not wal.holds(position)
        age = ArchiveAge(wal)
        age.measure()
        started = WAL_ARCHIVED.labels(slot)._value.get()
        assert started > 0
        age.measure()
        assert WAL_ARCHIVED.labels(slot)._value.get() == started, "nothing was archived"
        owner.execute("SELECT pg_replication_slot_advance(%s, pg_current_wal_flush_lsn())", [slot])
        assert wal.holds(position)
        assert wal.cluster().isdecimal()
        age.measure()
        assert WAL_ARCHIVED.labels(slot)._value.get() > started


@pytest.mark.parametrize("archive", ["archiver", "no_such_slot"])
def test_without_its_archive_nothing_counts_as_archived(database: Database, archive: str) -> None:
    wal = PostgresWal(database, archive)
    assert not wal.holds(wal.position())
