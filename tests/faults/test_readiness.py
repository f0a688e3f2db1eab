"""Readiness means that a move would succeed: each fault of the database or Redis has its name."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service import startup_checks
from service.job_queue import connect
from service.local.servers import EmbeddedValkey
from service.runtime.readiness import AtMostEvery
from service.shx.tlog.checkpoint import Checkpoint, sign_checkpoint
from service.shx.tlog.notes import NoteSigner
from tests.servers import database_name
from tests.worlds.api_world import World, make_world

pytestmark = pytest.mark.heavy


@pytest.fixture
def probing(own_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Return an application that probes at each call of readiness."""
    monkeypatch.setattr(startup_checks, "PROBE_SECONDS", 0.0)
    world = make_world(own_url, statement_seconds=1)
    yield world
    world.services.close()


@contextlib.contextmanager
def read_only(url: str) -> Iterator[None]:
    """Let new transactions be read-only, as on a server that was demoted."""
    name = database_name(url)
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on'.encode())
        _end_sessions(owner)
        yield
        owner.execute("SET default_transaction_read_only = off")
        owner.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only'.encode())
        _end_sessions(owner)


@contextlib.contextmanager
def locked(url: str) -> Iterator[None]:
    """Hold a lock under which reads go on, as a manual CREATE INDEX does."""
    with psycopg.connect(url) as owner:
        owner.execute("LOCK TABLE players, streams, events IN SHARE MODE")
        yield


@contextlib.contextmanager
def full(url: str) -> Iterator[None]:
    """Replace files of tables by /dev/full, where a write fails as on a full disk."""
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("TRUNCATE write_probes")  # of a file whose pages are in memory no page is new
        paths = [Path(row[0]) for row in owner.execute(FILES)]
        if not all(path.is_file() for path in paths):
            # A container's or a remote server's files cannot be replaced by /dev/full from here.
            pytest.skip("the files of this PostgreSQL are on another machine")
        for path in paths:
            path.rename(path.with_suffix(".kept"))
            path.symlink_to("/dev/full")
        _end_sessions(owner)
        yield
        for path in paths:
            path.with_suffix(".kept").replace(path)
        _end_sessions(owner)


FILES = """
SELECT current_setting('data_directory') || '/' || pg_relation_filepath(name)
FROM unnest(ARRAY['players', 'write_probes']::regclass[]) AS name
"""


def _end_sessions(owner: psycopg.Connection[tuple[object, ...]]) -> None:
    owner.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )


def test_a_clock_that_a_locked_table_hides_is_unknown_and_not_wrong(
    probing: World, own_url: str
) -> None:
    """The alarm about the clock would send the operator to the wrong part."""
    with psycopg.connect(own_url) as owner:
        owner.execute("LOCK TABLE streams IN ACCESS EXCLUSIVE MODE")
        parts = probing.get("/readyz").json["parts"]
    assert parts["clock"] == "unknown"
    assert parts["writes"].startswith("failed: ")


def test_a_database_that_was_set_back_degrades_the_service(own_url: str, tmp_path: Path) -> None:
    """Moves go on, but nothing of them is signed in the public log."""
    file = tmp_path / "log.checkpoint"
    world = make_world(own_url, log_checkpoint=file)

    def seen() -> tuple[int, str]:
        answer = world.get("/readyz")
        return answer.status_code, answer.json["parts"]["log"]

    try:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(AtMostEvery, "__call__", lambda check: check._check())
            assert seen() == (200, "ok")
            signer = NoteSigner(name="tests.example", key=Ed25519PrivateKey.generate())
            later = Checkpoint(origin="tests.example", size=10_000, root=bytes(32))
            file.write_bytes(sign_checkpoint(later, [signer]))
            assert seen() == (200, "failed: LogSetBack")
            file.write_bytes(b"cut off")
            assert seen() == (200, "failed: LogDamaged")
    finally:
        world.services.close()


Fault = Callable[[str], contextlib.AbstractContextManager[None]]


@pytest.mark.parametrize(
    ("fault", "name"),
    [(read_only, "ReadOnlySqlTransaction"), (locked, "LockNotAvailable"), (full, "DiskFull")],
)
def test_a_database_that_only_reads_makes_the_service_unready(
    probing: World, own_url: str, fault: Fault, name: str
) -> None:
    assert probing.get("/readyz").json["parts"]["writes"] == "ok"
    with fault(own_url):
        answer = probing.get("/readyz")
        assert answer.status_code == 503, answer.json
        parts = answer.json["parts"]
        assert parts["writes"] == f"failed: {name}"
        assert (parts["database"], parts["migrations"], parts["keys"]) == ("ok", "ok", "ok")
        refused = probing.client.post("/v1/players", json={"name": "Ada"})
        assert refused.status_code == 503, refused.text
    assert probing.get("/readyz").json["parts"]["writes"] == "ok"
    probing.person("Ada")


def test_a_probe_leaves_nothing_and_takes_a_new_page_each_time(
    probing: World, own_url: str
) -> None:
    """A row that fits into an old page would be written on a full disk too."""
    pages = []
    with psycopg.connect(own_url, autocommit=True) as owner:
        for _ in range(3):
            assert probing.get("/readyz").status_code == 200
            row = owner.execute(
                "SELECT pg_relation_size('write_probes') / current_setting('block_size')::int,"
                " (SELECT count(*) FROM write_probes)"
            ).fetchone()
            pages.append(row)
    assert pages == [(1, 0), (2, 0), (3, 0)]


def test_a_redis_that_is_down_or_full_degrades_the_service(own_url: str, tmp_path: Path) -> None:
    """Moves are stored without Redis: the load balancer goes on sending requests."""
    valkey = EmbeddedValkey(tmp_path)
    world = make_world(own_url, redis_url=valkey.start())

    def seen() -> tuple[int, str, str]:
        answer = world.get("/readyz")
        return answer.status_code, answer.json["status"], answer.json["parts"]["redis"]

    try:
        assert seen() == (200, "ready", "ok")
        redis = connect(valkey.url, seconds=5)
        redis.config_set("maxmemory", 1)
        assert seen() == (200, "degraded", "failed: OutOfMemoryError")
        redis.config_set("maxmemory", 0)
        assert seen() == (200, "ready", "ok")
        valkey.stop()
        assert seen() == (200, "degraded", "failed: ConnectionError")
    finally:
        world.services.close()
        valkey.stop()
