"""Reads from a streaming replica include every change that was acknowledged before them."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest

from service.api.app import create_app
from service.features import FEATURES
from service.local.servers import EmbeddedPostgres, _find_binaries
from service.runtime.config import Settings
from service.runtime.telemetry import REPLICA_READS
from service.shx.bundle import read_bundle
from service.store.database import Database
from service.store.migrate import migrate, service_url
from service.store.postgres_events import PostgresStore
from service.store.replica import database_of, from_replica
from tests.streams import append, commit

pytestmark = pytest.mark.heavy


class Pair:
    """A primary and a replica, whose replay of the WAL can be paused."""

    def __init__(self, folder: Path) -> None:
        self.primary = EmbeddedPostgres(folder / "primary")
        self.owner_url = self.primary.start()
        migrate(self.owner_url)
        cluster = folder / "replica" / "postgres" / "cluster"
        cluster.parent.mkdir(parents=True)
        program = str(_find_binaries(None) / "pg_basebackup")
        words = ["-D", str(cluster), "-d", self.owner_url, "-R", "--checkpoint=fast"]
        subprocess.run([program, *words], check=True, cwd="/")
        self.replica = EmbeddedPostgres(folder / "replica")
        self.replica_url = self.replica.start()

    def on_replica(self, statement: str) -> None:
        """Run a statement of the owner's on the replica."""
        with psycopg.connect(self.replica_url, autocommit=True) as connection:
            connection.execute(statement.encode())

    def stop(self) -> None:
        """Stop both servers."""
        self.replica.stop()
        self.primary.stop()


@contextmanager
def running_pair(folder: Path) -> Iterator[Pair]:
    """Run a primary and its replica; their folder is deleted afterwards."""
    made = Pair(folder)
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def pair(server_folder: Path) -> Iterator[Pair]:
    """Return a primary and its replica, which every test leaves as it found them."""
    with running_pair(server_folder / "pair") as made:
        yield made


@pytest.fixture
def settings(pair: Pair, tmp_path: Path) -> Settings:
    """Return the settings of a service on both servers."""
    return settings_on(pair, tmp_path)


def settings_on(pair: Pair, tmp_path: Path) -> Settings:
    """Return the settings of a service on a primary and its replica."""
    return Settings(
        database_url=service_url(pair.owner_url),
        read_database_url=service_url(pair.replica_url),
        key_file=tmp_path / "keys.json",
    )


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    """Return the two servers as the service sees them."""
    made = database_of(settings)
    yield made
    made.close()


def counted(outcome: str) -> float:
    """Return the number of reads of this process with an outcome."""
    return float(REPLICA_READS.labels(outcome)._value.get())


def version_of(store: PostgresStore, stream: UUID) -> int:
    """Return the version that a read from the replica sees, 0 for none."""
    with from_replica():
        found = store.read(stream)
    return 0 if found is None else found.version


def test_a_read_is_answered_by_the_replica_and_includes_the_change_before_it(
    database: Database,
) -> None:
    store, stream = PostgresStore(database), uuid4()
    before = counted("replica")
    for version in range(20):
        store.commit(commit(append(stream, b"{}", expected=version, after=store)))
        assert version_of(store, stream) == version + 1
    assert counted("replica") > before


def test_the_primary_answers_while_the_replica_is_behind(pair: Pair, database: Database) -> None:
    store, stream = PostgresStore(database), uuid4()
    store.commit(commit(append(stream, b"{}")))
    assert version_of(store, stream) == 1
    pair.on_replica("SELECT pg_wal_replay_pause()")
    behind = counted("behind")
    try:
        store.commit(commit(append(stream, b"{}", expected=1, after=store)))
        assert version_of(store, stream) == 2
    finally:
        pair.on_replica("SELECT pg_wal_replay_resume()")
    assert counted("behind") == behind + 1


def test_a_read_after_a_change_within_one_request_includes_it(
    pair: Pair, database: Database
) -> None:
    store, stream = PostgresStore(database), uuid4()
    with from_replica():
        assert store.read(stream) is None
        pair.on_replica("SELECT pg_wal_replay_pause()")
        try:
            store.commit(commit(append(stream, b"{}")))
            found = store.read(stream)
        finally:
            pair.on_replica("SELECT pg_wal_replay_resume()")
    assert found is not None


def test_reads_outside_of_marked_requests_go_to_the_primary(database: Database) -> None:
    before = counted("replica")
    PostgresStore(database).read(uuid4())
    assert counted("replica") == before


def test_lists_and_replays_are_read_from_the_replica_and_views_are_not(
    settings: Settings,
) -> None:
    client = create_app(FEATURES, settings=settings).test_client()
    player = client.post("/v1/players", json={"name": "Ada"}).get_json()
    me = {"Authorization": f"Bearer {player['token']}"}
    table = {"ruleset": "shithead", "seats": ["me", {"bot": "lowest"}], "window_seconds": 0}
    game = client.post("/v1/tables", json=table, headers=me).get_json()["game"]
    read = {}
    for path in (f"/games/{game}", "/games", f"/games/{game}/replay", f"/games/{game}/evidence"):
        before = counted("replica") + counted("behind")
        assert client.get(f"/v1{path}", headers=me).status_code == 200
        read[path] = counted("replica") + counted("behind") > before
    assert list(read.values()) == [False, True, True, True]


def test_a_process_on_a_lagging_replica_is_never_behind_what_another_answered(
    pair: Pair, settings: Settings
) -> None:
    """A move is made through one process and read through another."""
    first, second = (create_app(FEATURES, settings=settings).test_client() for _ in range(2))
    player = first.post("/v1/players", json={"name": "Ada"}).get_json()
    me = {"Authorization": f"Bearer {player['token']}"}
    table = {"ruleset": "shithead", "seats": ["me", {"bot": "lowest"}], "window_seconds": 0}
    game = first.post("/v1/tables", json=table, headers=me).get_json()["game"]

    def versions() -> list[int]:
        """Return the versions that list, replay, audit and evidence of the second show."""
        items = second.get("/v1/games?player=me", headers=me).get_json()["items"]
        replay = second.get(f"/v1/games/{game}/replay", headers=me).get_json()["items"]
        audit = second.get(f"/v1/games/{game}/audit", headers=me).get_json()
        evidence = second.get(f"/v1/games/{game}/evidence?profile=public", headers=me)
        lines = read_bundle(evidence.data).lines
        return [items[0]["version"], replay[-1]["version"], audit["version"], len(lines)]

    dealt = first.get(f"/v1/games/{game}", headers=me).get_json()["version"]
    assert versions() == [dealt] * 4
    pair.on_replica("SELECT pg_wal_replay_pause()")
    behind = counted("behind")
    try:
        moved = first.post(f"/v1/games/{game}/moves", json={"type": "ready"}, headers=me)
        seen = moved.get_json()["version"]
        assert seen > dealt
        assert versions() == [seen] * 4
    finally:
        pair.on_replica("SELECT pg_wal_replay_resume()")
    assert counted("behind") >= behind + 4


@pytest.mark.parametrize("is_promoted", [True, False])
def test_a_replica_that_was_promoted_or_stopped_is_not_read_and_delays_nothing(
    server_folder: Path, tmp_path: Path, *, is_promoted: bool
) -> None:
    """On servers of its own: a process that takes over tests of another may run this one first."""
    with running_pair(server_folder / "ended") as pair:
        database = database_of(settings_on(pair, tmp_path))
        store, stream = PostgresStore(database), uuid4()
        if is_promoted:
            pair.on_replica("SELECT pg_promote(true)")
        else:
            pair.replica.stop()
        store.commit(commit(append(stream, b"{}")))
        failed = counted("failed")
        assert version_of(store, stream) == 1
        began = time.monotonic()
        for _ in range(20):
            assert version_of(store, stream) == 1
        # Beside other tests twenty reads took more than a second; a server that is asked each time
        # would take up to ten.
        assert time.monotonic() - began < 4.0
        assert counted("failed") == failed + 1
        database.close()
