"""No process begins to work with a clock that has gone back, or with keys that others read."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from service.cli import run
from service.config import Settings
from service.keyring import Keyring, load_or_create
from service.machine import environment_of
from service.starting import CannotStart, check_start, clock_fault
from tests.api_world import make_world
from tests.servers import DatabaseServer

NOWHERE = "postgresql://nobody@127.0.0.1:1/none"
NOW = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    """Return settings of a service whose database has seen a game."""
    world = make_world(database_url)
    world.person().game()
    world.services.close()
    load_or_create(tmp_path / "keys.json")
    return Settings(database_url=database_url, key_file=tmp_path / "keys.json")


def test_a_clock_in_order_is_no_reason(settings: Settings) -> None:
    check_start(settings)


def test_a_clock_behind_the_newest_event_is_refused(settings: Settings) -> None:
    with pytest.raises(CannotStart, match="behind the newest stored event"):
        check_start(settings, datetime.now(UTC) - timedelta(minutes=5))
    check_start(replace(settings, clock_check=False), datetime.now(UTC) - timedelta(minutes=5))


def test_a_clock_ahead_of_the_database_s_is_refused(settings: Settings) -> None:
    with pytest.raises(CannotStart, match="are 300 s apart"):
        check_start(settings, datetime.now(UTC) + timedelta(minutes=5))


@pytest.mark.parametrize(("off", "fault"), [(0, False), (30, False), (-59, False), (61, True)])
def test_small_differences_are_lived_with(off: int, fault: bool) -> None:
    here = NOW - timedelta(seconds=off)
    assert (clock_fault(here, here, NOW) is not None) is fault
    assert (clock_fault(here, NOW, None) is not None) is fault


def test_the_name_that_the_public_log_is_signed_under_never_changes(settings: Settings) -> None:
    world = make_world(settings.database_url)
    world.services.sequencer.run_once()
    world.services.close()
    check_start(replace(settings, origin="tests.example"))
    with pytest.raises(CannotStart, match=r"is tests\.example, and SHITHEAD_ORIGIN is other"):
        check_start(replace(settings, origin="other.example"))


def test_a_database_that_is_away_does_not_keep_a_process_from_starting(tmp_path: Path) -> None:
    load_or_create(tmp_path / "keys.json")
    check_start(Settings(database_url=NOWHERE, key_file=tmp_path / "keys.json"))


def test_no_new_keys_are_made_where_games_need_those_that_are_not_there(
    settings: Settings,
) -> None:
    """A worker started again while the file is away would sign with keys nobody knows."""
    assert settings.key_file is not None
    settings.key_file.unlink()
    with pytest.raises(CannotStart, match="is not there, and 1 games were made with its keys"):
        check_start(settings)
    assert not settings.key_file.exists()


def test_no_new_keys_are_made_before_the_database_was_asked(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="the database does not say"):
        check_start(Settings(database_url=NOWHERE, key_file=tmp_path / "keys.json"))
    assert not (tmp_path / "keys.json").exists()


def test_a_database_without_games_is_begun_with_new_keys(
    database_url: str, database_server: DatabaseServer, tmp_path: Path
) -> None:
    for number, url in enumerate((database_url, database_server.create())):
        key_file = tmp_path / f"{number}.json"
        check_start(Settings(database_url=url, key_file=key_file))
        assert key_file.exists()


def test_a_lost_key_file_is_made_anew_by_command_alone(settings: Settings) -> None:
    assert settings.key_file is not None
    assert run(["rotate-keys", "--key-file", str(settings.key_file), "--new"]) == 1
    settings.key_file.unlink()
    assert run(["rotate-keys", "--key-file", str(settings.key_file)]) == 1
    assert run(["rotate-keys", "--key-file", str(settings.key_file), "--new"]) == 0
    check_start(settings)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_keys_that_others_may_read_are_refused(settings: Settings, mode: int) -> None:
    assert settings.key_file is not None
    load_or_create(settings.key_file)
    settings.key_file.chmod(mode)
    with pytest.raises(CannotStart, match="it wants mode 0600"):
        check_start(settings)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_keys_that_belong_to_somebody_else_are_refused(settings: Settings) -> None:
    assert settings.key_file is not None
    load_or_create(settings.key_file)
    os.chown(settings.key_file, 12345, 12345)
    with pytest.raises(CannotStart, match=r"belongs to another user \(id [0-9]+\)"):
        check_start(settings)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"v":2}', "not JSON"])
def test_what_is_no_key_file_is_refused_without_showing_it(settings: Settings, text: str) -> None:
    assert settings.key_file is not None
    settings.key_file.write_text(text)
    settings.key_file.chmod(0o600)
    with pytest.raises(CannotStart, match=r"not a key file of version 1$"):
        check_start(settings)


@pytest.mark.parametrize("kind", ["worker", "relay", "sweeper", "sequencer"])
def test_every_process_of_the_workers_refuses_with_one_line(settings: Settings, kind: str) -> None:
    assert settings.key_file is not None
    settings.key_file.write_text(Keyring.generate().to_text())
    settings.key_file.chmod(0o644)
    ended = subprocess.run(
        [sys.executable, "-m", "workers.main", kind],
        env=environment_of(settings),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 1
    assert "it wants mode 0600" in ended.stderr.strip().splitlines()[-1]
