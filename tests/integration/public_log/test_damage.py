"""Damaged rows of the public log in PostgreSQL: the sweep, the metric and readiness name them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from service.application.quotas import Slice
from service.features.public_log import PUBLIC_LOG
from service.public_log.signed_checkpoints import SignedFile
from service.runtime.readiness import AtMostEvery
from service.store.database import Database
from service.store.public_log import PostgresLog
from tests.integration.public_log.test_sequencer import add_games
from tests.worlds.api_world import World, make_world

SWEEP = next(one for one in PUBLIC_LOG.sweeps if one.name == "public log")

FAULTS = [
    ("UPDATE log_leaves SET data = data || 'x' WHERE leaf_index = 1", "leaf 1"),
    ("DELETE FROM log_leaves WHERE leaf_index = 1", "leaf 1"),
    ("UPDATE log_hashes SET hash = sha256('x') WHERE position = 2", "hash 0/2"),
    ("DELETE FROM log_hashes WHERE position = 2", "hashes of tile/0/000.p/4"),
    ("UPDATE log_heads SET note = set_byte(note, 130, get_byte(note, 130) # 1)", "checkpoint"),
]


@pytest.fixture
def world(database_url: str, database: Database) -> Iterator[World]:
    """Return a service whose log has four signed leaves."""
    made = make_world(database_url)
    add_games(database, 4)
    made.services.sequencer.run_once()
    yield made
    made.services.close()


def damage(database_url: str, change: str) -> None:
    """Change rows as a disk does, past the triggers."""
    with psycopg.connect(database_url, autocommit=True) as owner:
        for table in ("log_leaves", "log_hashes", "log_heads"):
            owner.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER".encode())
        owner.execute(change.encode())


def swept(work: Callable[[Slice], int]) -> list[str]:
    """Do a slice of the sweep; return the places that it logs."""
    with capture_logs() as lines:
        assert work(Slice(rows=SWEEP.rows, seconds=SWEEP.seconds)) == 0
    return [
        line["place"]
        for line in lines
        if (line["log_level"], line["event"]) == ("critical", "the public log is damaged")
    ]


def readiness(world: World) -> tuple[int, str]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(AtMostEvery, "__call__", lambda check: check._check())
        answer = world.get("/readyz")
    return answer.status_code, answer.json["parts"]["log"]


@pytest.mark.parametrize(("change", "place"), FAULTS)
def test_a_damaged_row_is_logged_counted_and_degrades_the_service(
    world: World, database_url: str, store: PostgresLog, change: str, place: str
) -> None:
    work = SWEEP.begin(world.services)
    assert [*swept(work), *swept(work)] == []
    assert readiness(world) == (200, "ok")
    damage(database_url, change)
    assert place in [*swept(work), *swept(work)]
    assert swept(work) == [], "once"
    known = len(store.damage())
    counted = REGISTRY.get_sample_value("shithead_log_damaged", {"where": "stored"})
    assert (counted, readiness(world)) == (known, (200, "failed: LogDamaged"))


def test_the_stored_damage_is_bounded_and_removed_with_its_part(
    world: World, database_url: str, store: PostgresLog
) -> None:
    work = SWEEP.begin(world.services)
    damage(database_url, "UPDATE log_leaves SET data = data || 'x'")
    swept(work)
    assert [one.place for one in store.damage()] == [f"leaf {n}" for n in range(4)]
    more = [
        type(one)(part="p", place=f"{n:05}", reason="r")
        for one in store.damage()
        for n in range(300)
    ]
    store.keep_damage("another part", more)
    assert len(store.damage()) <= 1000
    store.keep_damage("another part", ())
    assert len(store.damage()) == 4
    damage(database_url, "UPDATE log_leaves SET data = substr(data, 1, length(data) - 1)")
    swept(work)
    swept(work)
    assert store.damage() == []
    assert readiness(world) == (200, "ok")


def test_a_damaged_file_of_the_checkpoint_is_named_on_its_machine(
    database_url: str, database: Database, tmp_path: Path
) -> None:
    """Before the next leaf, for which the sequencer would say that the log does not continue it."""
    file = tmp_path / "log.checkpoint"
    signed = SignedFile(file)
    services = make_world(database_url, log_checkpoint=file).services
    services.sequencer._checkpoints = services.log_reader._signed = signed
    add_games(database, 2)
    services.sequencer.run_once()
    work, whole = SWEEP.begin(services), file.read_bytes()
    assert swept(work) == []
    file.write_bytes(whole.replace(b"\n2\n", b"\n3\n"))
    assert [*swept(work), *swept(work)] == ["log.checkpoint"]
    assert REGISTRY.get_sample_value("shithead_log_damaged", {"where": "file"}) == 1
    file.write_bytes(whole)
    assert swept(work) == []
    assert REGISTRY.get_sample_value("shithead_log_damaged", {"where": "file"}) == 0
    file.write_bytes(b"no checkpoint")
    assert swept(work) == ["log.checkpoint"]
    services.close()
