"""Each alert of a part fires after the part was broken, and not before or after the repair."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from shutil import which
from uuid import UUID

import prometheus_client
import psycopg
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector

from service import startup_checks
from service.api.observability import Asking
from service.application.calls import RegisteredPlayer
from service.application.quotas import Slice
from service.bootstrap import Services
from service.feature import Sweep
from service.features.disputes import unanswered
from service.features.games import stuck
from service.features.upkeep import measures
from service.features.webhooks import measures as webhook_measures
from service.keys import load_or_create
from service.local import up
from service.local.processes import make_folder
from service.local.programs import Program, Supervisor
from service.local.servers import EmbeddedValkey
from service.local.supervisor_metrics import CHECKED_FILE, SupervisorMetrics, write_check
from service.local.up import UpOptions
from service.runtime.config import settings_from
from service.runtime.telemetry import SHARED_FOLDER, WAL_ARCHIVED
from service.store.database import Database
from service.store.events import StoreError
from service.store.public_log import PostgresWal
from tests.alerts import RULES, Readings, firing, need_promtool, readings
from tests.faults.test_readiness import read_only
from tests.receivers import receiver
from tests.running import free_port, wait_for
from tests.worlds.api_world import Person, make_world
from tests.worlds.fake_world import Deployment, one_move, open_game, sliced
from workers.relay import Relay
from workers.sequencer import ArchiveAge
from workers.sweeper import SweepTurns

pytestmark = pytest.mark.heavy

Breaking = contextlib.AbstractContextManager[None]
REGISTRY = prometheus_client.REGISTRY


@contextlib.contextmanager
def unreadable(file: Path) -> Iterator[None]:
    """Let others read the key file, which the service refuses."""
    file.chmod(0o644)
    yield
    file.chmod(0o600)


@contextlib.contextmanager
def stopped(valkey: EmbeddedValkey) -> Iterator[None]:
    """Stop Redis."""
    valkey.stop()
    yield
    valkey.start()


@contextlib.contextmanager
def event_of_tomorrow(url: str) -> Iterator[None]:
    """Let the newest event be of tomorrow, as after a clock that was ahead."""
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("UPDATE games SET created_at = created_at + interval '1 day'")
        yield
        owner.execute("UPDATE games SET created_at = created_at - interval '1 day'")


def test_the_alert_of_a_part_fires_while_the_part_fails(
    own_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(startup_checks, "PROBE_SECONDS", 0.0)
    valkey, keys = EmbeddedValkey(tmp_path / "valkey"), tmp_path / "keys.json"
    load_or_create(keys)
    world = make_world(own_url, redis_url=valkey.start(), keys=None, key_file=keys)
    world.person().game()

    def fires(alert: str) -> bool:
        first = world.get("/readyz") and readings(REGISTRY)
        time.sleep(0.01)
        second = world.get("/readyz") and readings(REGISTRY)
        return firing(first, second, alert, tmp_path)

    faults: dict[str, Callable[[], Breaking]] = {
        "ShitheadWritesFail": lambda: read_only(own_url),
        "ShitheadKeysFail": lambda: unreadable(keys),
        "ShitheadRedisFails": lambda: stopped(valkey),
        "ShitheadClock": lambda: event_of_tomorrow(own_url),
    }
    assert not fires("|".join(faults)), "before"
    for alert, fault in faults.items():
        with fault():
            assert fires(alert), alert
    assert not fires("|".join(faults)), "after"
    world.services.close()
    valkey.stop()


def test_alerts_fire_and_stay_silent_as_promtool_expects() -> None:
    need_promtool()
    for command in (("check", "rules", "alerts.yaml"), ("test", "rules", "alerts-test.yaml")):
        subprocess.run(["promtool", *command], cwd=RULES.parent, check=True)


def test_a_reading_of_the_metrics_asks_for_readiness(own_url: str) -> None:
    """A fault in the night is noticed without a request, and without a load balancer."""
    world = make_world(own_url)
    registry = CollectorRegistry()
    registry.register(Asking(REGISTRY, world.services.readiness))
    name = 'shithead_failed_check_timestamp_seconds{part="redis"}'
    began = time.time()
    readings(registry)
    wait_for(lambda: readings(registry).get(name, ("", 0.0))[1] >= began, seconds=10)
    world.services.close()


def test_a_game_that_lost_its_seed_is_stuck(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, tmp_path: Path
) -> None:
    before = readings(REGISTRY)
    game = open_game(services, ada, ({"bot": "greedy"}, {"bot": "lowest"}))
    sliced(stuck, services)()
    assert not firing(before, readings(REGISTRY), "ShitheadGamesStuck", tmp_path)
    with psycopg.connect(deployment.url, autocommit=True) as owner:
        owner.execute("DELETE FROM secrets WHERE game_id = %s", (game,))
    sliced(stuck, services)()
    assert firing(before, readings(REGISTRY), "ShitheadGamesStuck", tmp_path)


def test_sessions_of_others_are_counted_among_the_connections_of_the_database(
    own_url: str,
) -> None:
    services = make_world(own_url).services
    sessions = [psycopg.connect(own_url) for _ in range(7)]
    sliced(measures, services)()
    row = sessions[0].execute("SHOW max_connections").fetchone()
    assert row is not None
    assert REGISTRY.get_sample_value(METRIC, {"which": "allowed"}) == float(row[0])
    assert (REGISTRY.get_sample_value(METRIC, {"which": "used"}) or 0) > len(sessions)
    for session in sessions:
        session.close()
    services.close()


METRIC = "shithead_database_connections"


def test_an_open_transaction_and_wal_held_by_a_slot_are_measured(own_url: str) -> None:
    services = make_world(own_url).services
    with psycopg.connect(own_url, autocommit=True) as owner, psycopg.connect(own_url) as forgotten:
        owner.execute("SELECT pg_create_physical_replication_slot('gone', true)")
        try:
            forgotten.execute("SELECT 1")
            time.sleep(0.3)
            owner.execute("SET synchronous_commit = on")  # WAL counts once it is written
            owner.execute("CREATE TABLE more AS SELECT generate_series(1, 2000)")
            sliced(measures, services)()
            assert (REGISTRY.get_sample_value("shithead_oldest_transaction_seconds") or 0) >= 0.3
            assert (REGISTRY.get_sample_value("shithead_wal_held_bytes") or 0) > 60_000
        finally:
            owner.execute("SELECT pg_drop_replication_slot('gone')")
    services.close()


def test_a_dispute_against_the_server_raises_an_alert_until_it_is_answered(
    own_url: str, tmp_path: Path
) -> None:
    """A bot that is accused has no player either, and the operator is no side of that dispute."""
    world = make_world(own_url)
    services = world.services

    def fires() -> bool:
        sliced(unanswered, services)()
        return firing({}, readings(REGISTRY), "ShitheadDisputeUnanswered", tmp_path)

    ada = world.person()
    game = ada.game()
    one_move(services, UUID(game.rpartition("/")[2]))
    events = ada.get(f"{game}/events").json["items"]
    body = {"accused": 1, "charge": "wrong_deal", "statement": "It looked."}
    seq = next(event["seq"] for event in events if event["by"] == 1)
    assert ada.post(f"{game}/disputes", {**body, "seq": seq}).status_code == 201
    assert not fires()
    dispute = ada.post(f"{game}/disputes", {**body, "accused": None, "seq": 0}).json["id"]
    assert fires()
    services.disputes.answer(UUID(dispute), "It did not.")
    assert not fires()
    services.close()


def test_a_sweep_that_fails_again_and_again_raises_an_alert(
    services: Services, tmp_path: Path
) -> None:
    def broken(_part: Slice) -> int:
        raise StoreError("deadlock")

    def fires() -> bool:
        turns.run()
        return firing({}, readings(REGISTRY), "ShitheadSweepFails", tmp_path)

    failing = Sweep(
        name="broken", period=1, seconds=1, rows=1, longest_pause=1, begin=lambda _: broken
    )
    turns = SweepTurns(failing, services)
    assert [fires() for _ in range(3)] == [False, False, True]
    works = replace(failing, begin=lambda _: lambda _: 0)
    turns = SweepTurns(works, services)
    assert not fires()


def test_webhooks_that_no_process_sends_raise_an_alert_and_one_that_does_ends_it(
    own_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The relay claims them again each minute, which must not hide how long they have waited."""
    monkeypatch.setattr("service.application.webhooks.IN_USE_SECONDS", 0.0)
    world, alert = make_world(own_url, webhook_loopback=True), "ShitheadWebhooksWait"
    services = world.services

    def fires() -> bool:
        sliced(webhook_measures, services)()
        return firing({}, readings(REGISTRY), alert, tmp_path)

    with receiver() as local, psycopg.connect(own_url, autocommit=True) as owner:
        hook(world.person(), local.url)
        assert not fires()
        for _ in range(3):  # three claims that nothing works on expire
            assert Relay(services).enqueue_webhooks() == 1
            for column in ("due_at", "claimed_until"):
                owner.execute(f"UPDATE webhooks SET {column} = {column} - interval '61 s'".encode())
        assert fires()
        [(player, claim)] = services.webhooks.claim()
        assert services.webhooks.deliver(player, claim) == "more", "the ping was echoed"
        assert not fires()
        [(player, claim)] = services.webhooks.claim()
        assert services.webhooks.deliver(player, claim) == "on"
        sliced(webhook_measures, services)()
        assert readings(REGISTRY)["shithead_webhooks_lag_seconds{}"][1] == 0, "it is due later"
    services.close()


def test_receivers_that_all_fail_raise_an_alert_and_those_of_a_few_players_do_not(
    own_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.application.webhooks.IN_USE_SECONDS", 0.0)
    world, alert = make_world(own_url, webhook_loopback=True), "ShitheadWebhooksFail"
    services = world.services

    def fires() -> bool:
        for player, claim in services.webhooks.claim():
            services.webhooks.deliver(player, claim)
        sliced(webhook_measures, services)()
        return firing({}, readings(REGISTRY), alert, tmp_path)

    with receiver() as local:
        people = [world.person(f"Player {number}") for number in range(6)]
        for number, person in enumerate(people):  # nothing listens where the first three receive
            hook(person, local.url if number > 2 else f"http://127.0.0.1:{free_port()}/")
        assert not fires(), "three of six"
        for person in people[3:]:
            assert person.call("DELETE", "/v1/players/me/webhook").status_code == 204
        assert fires(), "three of three"
    services.close()


def hook(person: Person, url: str) -> None:
    assert person.call("PUT", "/v1/players/me/webhook", json={"url": url}).status_code == 200


def shared(folder: Path) -> CollectorRegistry:
    """Return the metrics in a shared folder."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(folder))  # type: ignore[no-untyped-call] # the library has no type
    return registry


def test_a_program_that_ends_again_and_again_raises_an_alert(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "measures")
    supervisor = Supervisor(
        logs=tmp_path,
        environment={**os.environ, SHARED_FOLDER: str(folder)},  # other than here: not a fork
        folder=tmp_path,
    )
    supervisor.start(Program(name="relay", module="no_such_module", arguments=()))
    metrics = SupervisorMetrics(folder, {"data": tmp_path})
    metrics.begin(supervisor.processes())
    before = readings(shared(folder))
    assert not firing(before, before, "ShitheadRestarts", tmp_path)
    ended = list[str]()
    while len(ended) < 2:
        ended += supervisor.supervise()
        time.sleep(0.01)
    supervisor.stop(seconds=1)
    for name in ended:
        metrics.restarted(name)
    after = readings(shared(folder))
    assert after['shithead_restarts_total{program="relay"}'] == ("counter", 2.0)
    assert firing(before, after, "ShitheadRestarts", tmp_path)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Return the folder of a disk of 1 MiB."""
    if os.getuid() != 0 or not sys.platform.startswith("linux"):
        pytest.skip("a small disk needs root on Linux")  # mounting is a privilege
    disk = make_folder(tmp_path / "disk")
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("this system lets nothing be mounted")  # some containers
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def disks_measured(shared_folder: Path, folders: dict[str, Path]) -> Readings:
    """Return the metrics once the disks were measured; a new supervisor measures at once."""
    metrics = SupervisorMetrics(make_folder(shared_folder), folders)

    def are_measured() -> bool:
        metrics.measure_disks_due()
        return all(disk.mount or not disk._folder.exists() for disk in metrics._disks)

    wait_for(are_measured, seconds=10)
    return readings(shared(shared_folder))


def test_of_archives_on_one_disk_that_is_named_for_which_moves_wait(tmp_path: Path) -> None:
    """A full disk of archived games stops no move, that of the WAL archive may stop all."""
    ours = {"SHITHEAD_DATABASE_URL": "postgresql://h/d", "SHITHEAD_KEYS": "{}"}
    settings = settings_from({**ours, "SHITHEAD_ARCHIVE": str(tmp_path)})
    options = UpOptions(data=tmp_path, wal_archive=tmp_path / "wal")
    assert [*up._measured_folders(options, tmp_path, settings)] == [
        "data",
        "wal_archive",
        "archive",
    ]


@pytest.mark.parametrize("name", ["data", "archive", "wal_archive"])
def test_a_disk_that_is_nearly_full_raises_an_alert(disk: Path, tmp_path: Path, name: str) -> None:
    folders = {"data": tmp_path, name: disk}
    empty = disks_measured(tmp_path / "before", folders)
    assert empty[f'shithead_disk_size_bytes{{disk="{name}"}}'] == ("gauge", float(1 << 20))
    assert not firing(empty, empty, "ShitheadDiskFull", tmp_path)
    (disk / "file").write_bytes(bytes(1000 << 10))
    full = disks_measured(tmp_path / "after", folders)
    assert firing(full, full, "ShitheadDiskFull", tmp_path)


def test_a_disk_of_two_folders_is_measured_once(tmp_path: Path) -> None:
    """A folder that is missing has no disk; the archive is made with the first archived game."""
    folders = {
        "data": tmp_path,
        "archive": tmp_path / "none",
        "wal_archive": make_folder(tmp_path / "w"),
    }
    found = disks_measured(tmp_path / "measures", folders)
    sizes = [series for series in found if series.startswith("shithead_disk_size_bytes")]
    assert sizes == ['shithead_disk_size_bytes{disk="data"}']


def test_a_drive_that_hangs_does_not_stop_the_supervisor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "df"
    program.write_text(
        f"#!/bin/sh\n[ ${{2##*/}} = hangs ] && exec sleep 60\nexec {which('df')} $@\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    folders = {"data": tmp_path, "archive": make_folder(tmp_path / "hangs")}
    metrics = SupervisorMetrics(folder := make_folder(tmp_path / "measures"), folders)
    began = time.monotonic()
    while 'shithead_disk_size_bytes{disk="data"}' not in readings(shared(folder)):
        metrics.measure_disks_due()
        assert time.monotonic() - began < 10
    [child] = [disk._child for disk in metrics._disks if disk.name == "archive"]
    assert child is not None
    child.kill()
    child.communicate()


def test_an_archive_that_falls_behind_raises_an_alert(own_url: str, tmp_path: Path) -> None:
    """The WAL is archived as far as the slot of the archive has confirmed it."""
    slot = "test_alerts"
    database = Database(own_url, size=1)
    age = ArchiveAge(PostgresWal(database, slot))
    with psycopg.connect(own_url, autocommit=True) as owner:
        owner.execute("SELECT pg_create_physical_replication_slot(%s, true)", [slot])
        try:
            owner.execute("SELECT txid_current(), pg_switch_wal()")
            age.measure()
            first = readings(REGISTRY)
            age.measure()
            assert firing(first, readings(REGISTRY), "ShitheadArchiveBehind", tmp_path)
            owner.execute(
                "SELECT pg_replication_slot_advance(%s, pg_current_wal_flush_lsn())", [slot]
            )
            age.measure()
            assert not firing(first, readings(REGISTRY), "ShitheadArchiveBehind", tmp_path)
        finally:
            owner.execute("SELECT pg_drop_replication_slot(%s)", [slot])
            database.close()
            WAL_ARCHIVED.remove(slot)


def test_an_old_base_backup_raises_an_alert(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "measures")
    registry, metrics = shared(folder), SupervisorMetrics(folder, {"data": tmp_path})
    metrics.show_base_backup(None)
    assert not firing({}, readings(registry), "ShitheadBaseBackupOld", tmp_path)
    metrics.show_base_backup(time.time() - 3 * 86_400)
    assert firing({}, readings(registry), "ShitheadBaseBackupOld", tmp_path)
    metrics.show_base_backup(time.time())
    assert not firing({}, readings(registry), "ShitheadBaseBackupOld", tmp_path)


def test_a_check_that_is_old_or_found_faults_raises_an_alert(tmp_path: Path) -> None:
    """By the file that the command leaves, as the supervisor shows it."""
    folder = make_folder(tmp_path / "measures")

    def fires(alert: str) -> bool:
        metrics = SupervisorMetrics(folder, {"data": tmp_path})
        metrics.measure_machine_due()
        return firing({}, readings(shared(folder)), alert, tmp_path)

    both = "ShitheadCheckMissing|ShitheadCheckFaults"
    assert not fires(both), "no check yet"
    write_check(tmp_path / CHECKED_FILE, time.time(), 0)
    assert not fires(both)
    write_check(tmp_path / CHECKED_FILE, time.time(), 2)
    assert fires("ShitheadCheckFaults")
    write_check(tmp_path / CHECKED_FILE, time.time() - 3 * 86_400, 0)
    assert fires("ShitheadCheckMissing")
    assert not fires("ShitheadCheckFaults|ShitheadMemory")
    shown = readings(shared(folder))
    size, free = (shown[f"shithead_memory_{word}_bytes{{}}"][1] for word in ("size", "available"))
    assert 1 << 27 < free < size
