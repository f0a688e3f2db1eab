"""No process starts with a clock that has gone back or with keys readable by others."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import psycopg
import pytest
from structlog.testing import capture_logs

from service.cli.__main__ import run
from service.keys import Keyring, load_or_create
from service.local.programs import environment_of, program_of
from service.runtime.config import Settings
from service.startup_checks import CannotStart, check_start, clock_fault, redis_fault
from service.store.database import Database
from tests.running import wait_for
from tests.servers import DatabaseServer
from tests.worlds.api_world import make_world

NOWHERE = "postgresql://nobody@127.0.0.1:1/none"
NOW = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    """Return settings of a service whose database has a game."""
    load_or_create(tmp_path / "keys.json")
    world = make_world(database_url, keys=None, key_file=tmp_path / "keys.json")
    world.person().game()
    world.services.close()
    return Settings(
        database_url=database_url, key_file=tmp_path / "keys.json", origin="tests.example"
    )


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait less long for a connection to the database."""
    quick = partial(Database, connection_seconds=0.1)
    monkeypatch.setattr("service.startup_checks.Database", quick)


def test_a_correct_clock_is_accepted(settings: Settings) -> None:
    check_start(settings)


def test_a_start_with_too_few_file_descriptors_is_refused(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `ulimit -n 64` the service started, and 1,382 requests were answered with 500."""
    monkeypatch.setattr("resource.getrlimit", lambda _which: (64, 64))
    with pytest.raises(CannotStart, match=r"can open 64 files .* 256 are needed"):
        check_start(settings)


def test_a_clock_behind_the_newest_event_is_refused(settings: Settings) -> None:
    with pytest.raises(CannotStart, match="behind the newest stored event"):
        check_start(settings, datetime.now(UTC) - timedelta(minutes=5))
    check_start(replace(settings, clock_check=False), datetime.now(UTC) - timedelta(minutes=5))


def test_a_clock_ahead_of_the_database_clock_is_refused(settings: Settings) -> None:
    with pytest.raises(CannotStart, match="are 300 s apart"):
        check_start(settings, datetime.now(UTC) + timedelta(minutes=5))


@pytest.mark.parametrize(("off", "fault"), [(0, False), (30, False), (-59, False), (61, True)])
def test_small_clock_differences_are_accepted(off: int, fault: bool) -> None:
    here = NOW - timedelta(seconds=off)
    assert (clock_fault(here, here, NOW) is not None) is fault
    assert (clock_fault(here, NOW, None) is not None) is fault


def test_a_start_warns_of_an_upgrade_that_is_not_finished(settings: Settings) -> None:
    """Functions that only the earlier release called stay until then."""

    def warned() -> bool:
        with capture_logs() as lines:
            check_start(settings)
        return "the upgrade is not finished" in [line["event"] for line in lines]

    assert not warned()
    with psycopg.connect(settings.database_url, autocommit=True) as owner:
        owner.execute("CREATE FUNCTION of_before() RETURNS integer LANGUAGE sql AS 'SELECT 1'")
        owner.execute("INSERT INTO applied_files VALUES ('of_before', '')")
    assert warned()
    assert run(["migrate", "--database-url", settings.database_url, "--finish"]) == 0
    assert not warned()


def test_the_name_of_the_public_log_cannot_be_changed(settings: Settings) -> None:
    publish(settings)
    check_start(replace(settings, origin="tests.example"))
    with pytest.raises(CannotStart, match=r"is tests\.example, and SHITHEAD_ORIGIN is other"):
        check_start(replace(settings, origin="other.example"))


@pytest.mark.usefixtures("impatient")
def test_an_unreachable_database_does_not_prevent_a_start(tmp_path: Path) -> None:
    load_or_create(tmp_path / "keys.json")
    check_start(Settings(database_url=NOWHERE, key_file=tmp_path / "keys.json"))


def test_no_new_keys_are_made_if_games_need_missing_keys(
    settings: Settings,
) -> None:
    """A worker restarted without the key file would sign with unknown keys."""
    assert settings.key_file is not None
    settings.key_file.unlink()
    with pytest.raises(CannotStart, match="does not exist, and 1 games were made with its keys"):
        check_start(settings)
    assert not settings.key_file.exists()


@pytest.mark.usefixtures("impatient")
def test_no_new_keys_are_made_while_the_database_does_not_answer(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="the database does not answer"):
        check_start(Settings(database_url=NOWHERE, key_file=tmp_path / "keys.json"))
    assert not (tmp_path / "keys.json").exists()


def test_new_keys_are_made_for_a_database_without_games(
    database_url: str, database_server: DatabaseServer, tmp_path: Path
) -> None:
    for number, url in enumerate((database_url, database_server.create())):
        key_file = tmp_path / f"{number}.json"
        check_start(Settings(database_url=url, key_file=key_file))
        assert key_file.exists()


def test_a_lost_key_file_is_replaced_only_by_command(settings: Settings) -> None:
    assert settings.key_file is not None
    assert run(["rotate-keys", "--key-file", str(settings.key_file), "--new"]) == 1
    settings.key_file.unlink()
    assert run(["rotate-keys", "--key-file", str(settings.key_file)]) == 1
    assert run(["rotate-keys", "--key-file", str(settings.key_file), "--new"]) == 0
    with pytest.raises(CannotStart, match="SHITHEAD_KEYS_CHECK=off disables this check"):
        check_start(settings)
    check_start(replace(settings, keys_check=False))
    world = make_world(settings.database_url, keys=None, key_file=settings.key_file)
    world.person().game()
    world.services.close()
    check_start(settings)


def publish(settings: Settings) -> None:
    """Let the service sign the public log once."""
    world = make_world(settings.database_url, keys=None, key_file=settings.key_file)
    world.services.sequencer.run_once()
    world.services.close()


@pytest.mark.attack("OLD_STATE", "a key file from before a rotation", check="the start")
@pytest.mark.parametrize("source", ["file", "environment"])
@pytest.mark.parametrize("only", ["signing", "sealing"])
def test_keys_from_before_a_rotation_are_refused(
    settings: Settings, only: str, source: str
) -> None:
    """An old copy would publish and sign with a retired key."""
    assert settings.key_file is not None
    publish(settings)
    old = settings.key_file.read_text()
    assert run(["rotate-keys", "--key-file", str(settings.key_file), "--only", only]) == 0
    check_start(settings)  # nothing has been signed or sealed with the new ones yet
    world = make_world(settings.database_url, keys=None, key_file=settings.key_file)
    world.person().game()
    world.services.sequencer.run_once()
    world.services.close()
    check_start(settings)
    put_back(settings, old)
    started = replace(settings, key_file=None, keys=old) if source == "environment" else settings
    with pytest.raises(CannotStart, match=r"has older keys than this database.*restore the newest"):
        check_start(started)
    check_start(replace(started, keys_check=False))


def put_back(settings: Settings, text: str) -> None:
    """Replace the key file, as an operator does."""
    assert settings.key_file is not None
    settings.key_file.write_text(text)


def test_keys_are_compared_with_the_checkpoint_file(settings: Settings) -> None:
    """Database and keys were set back together; the file of the last checkpoint was not."""
    assert settings.key_file is not None
    publish(settings)
    old = settings.key_file.read_text()
    assert run(["rotate-keys", "--key-file", str(settings.key_file), "--only", "signing"]) == 0
    publish(settings)
    with psycopg.connect(settings.database_url) as owner:
        owner.execute("ALTER TABLE log_heads DISABLE TRIGGER USER")
        owner.execute("UPDATE log_heads SET note = NULL")
    check_start(settings)
    put_back(settings, old)
    with pytest.raises(CannotStart, match="a published checkpoint is signed with the key"):
        check_start(settings)


def test_keys_of_another_service_are_refused(settings: Settings, tmp_path: Path) -> None:
    publish(settings)
    load_or_create(tmp_path / "others.json")
    with pytest.raises(CannotStart, match="or another service's"):
        check_start(replace(settings, key_file=tmp_path / "others.json"))


def test_many_rotations_are_accepted(settings: Settings) -> None:
    for _ in range(3):
        assert run(["rotate-keys", "--key-file", str(settings.key_file), "--overlap", "0"]) == 0
        publish(settings)
        check_start(settings)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_key_file_readable_by_others_is_refused(settings: Settings, mode: int) -> None:
    assert settings.key_file is not None
    load_or_create(settings.key_file)
    settings.key_file.chmod(mode)
    with pytest.raises(CannotStart, match="set its mode to 0600"):
        check_start(settings)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_a_key_file_owned_by_another_user_is_refused(settings: Settings) -> None:
    assert settings.key_file is not None
    load_or_create(settings.key_file)
    os.chown(settings.key_file, 12345, 12345)
    with pytest.raises(CannotStart, match=r"belongs to another user \(id [0-9]+\)"):
        check_start(settings)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"v":2}', "not JSON"])
def test_an_invalid_key_file_is_refused_without_showing_it(settings: Settings, text: str) -> None:
    assert settings.key_file is not None
    settings.key_file.write_text(text)
    settings.key_file.chmod(0o600)
    with pytest.raises(CannotStart, match=r"not a key file of version 1$"):
        check_start(settings)


@pytest.mark.parametrize("kind", ["worker", "sweeper"])
def test_every_worker_process_states_in_one_line_why_it_cannot_start(
    settings: Settings, tmp_path: Path, kind: str
) -> None:
    assert settings.key_file is not None
    settings.key_file.write_text(Keyring.generate().to_text())
    settings.key_file.chmod(0o644)
    log = tmp_path / "log"
    program = program_of(settings, kind)
    ended = program.start(log=log, environment=environment_of(settings), folder=tmp_path)
    assert ended.wait(timeout=60) == 1
    assert "set its mode to 0600" in log.read_text().strip().splitlines()[-1]
    assert len(log.read_text().strip().splitlines()) == 1, log.read_text()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redis://10.0.0.7:6379/0", "has no password"),
        ("redis://127.0.0.1:6379/0", "has no password"),
        ("redis://localhost", "has no password"),
        ("rediss://10.0.0.7/0", "has no password"),
        ("redis://user:secret@redis.example/0", "without TLS"),
        ("redis://10.0.0.7/0?password=secret", "without TLS"),
        ("redis+sentinel://127.0.0.1:26379,10.0.0.7:26379/main", "127.0.0.1:26379 has no password"),
        (
            "redis+sentinel://:secret@127.0.0.1:26379,10.0.0.7:26379/main",
            "10.0.0.7:26379 is used without TLS",
        ),
    ],
)
def test_an_unprotected_redis_is_warned_of(url: str, words: str) -> None:
    fault = redis_fault(url)
    assert fault is not None
    assert words in fault
    assert "secret" not in fault


@pytest.mark.parametrize(
    "url",
    [
        None,
        "unix:///run/redis.sock?db=0",
        "redis://:secret@127.0.0.1:6379/0",
        "redis://:secret@[::1]:6379/0",
        "rediss://user:secret@redis.example:6380/0",
        "rediss://redis.example/0?ssl_certfile=/etc/ours.pem",
        "rediss+sentinel://user:secret@a.example:26379,b.example:26379/main",
    ],
)
def test_a_protected_redis_causes_no_warning(url: str | None) -> None:
    assert redis_fault(url) is None


def test_a_process_logs_the_warning_when_it_starts(settings: Settings, tmp_path: Path) -> None:
    """Without a queue the worker tries again, after the warning."""
    changed, log = replace(settings, redis_url="redis://127.0.0.1:1/0"), tmp_path / "log"
    program = program_of(changed, "worker")
    started = program.start(log=log, environment=environment_of(changed), folder=tmp_path)
    try:
        wait_for(lambda: log.exists() and "redis is not protected" in log.read_text(), seconds=60)
    finally:
        started.terminate()
        started.wait()
    [line] = [one for one in log.read_text().splitlines() if "redis is not protected" in one]
    assert "has no password" in line
