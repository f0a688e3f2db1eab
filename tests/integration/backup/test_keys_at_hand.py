"""The keys that commands find beside a backup, and their messages about missing ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from service.cli.__main__ import run as shithead
from service.keys import Keyring, load, save_new
from service.shx.tlog.checkpoint import parse_checkpoint
from service.shx.tlog.notes import parse_note
from tests.integration.backup.conftest import StoredGames, backed_up
from tests.worlds.fake_log import ORIGIN, SIGNER
from tests.worlds.fake_world import KEYS

OWN = replace(KEYS, signing_key=SIGNER.key)
LATER = OWN.rotated().without(OWN.current)
"""Keys that sign as before, without the one that the running game is sealed with."""

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a command, with SHITHEAD_KEYS set to `keys` if given."""

    def call(*words: object, keys: Keyring | None = None) -> tuple[int, str, str]:
        monkeypatch.delenv("SHITHEAD_KEYS", raising=False)
        if keys is not None:
            monkeypatch.setenv("SHITHEAD_KEYS", keys.to_text())
        status = shithead([str(word) for word in words])
        output = capsys.readouterr()
        return status, output.out, output.err

    return call


@pytest.fixture
def service(stored_games: StoredGames, tmp_path: Path) -> tuple[object, ...]:
    return ("--database-url", stored_games.url, "--data", tmp_path / "data", "--origin", ORIGIN)


def test_keys_of_the_environment_are_backed_up_like_those_of_a_file(
    stored_games: StoredGames, tmp_path: Path, run: Run
) -> None:
    words = ("backup", tmp_path / "b", "--database-url", stored_games.url, "--data", tmp_path)
    status, _, err = run(*words, "--keys", tmp_path / "copy", keys=OWN)
    assert (status, err) == (0, "")
    assert load(tmp_path / "copy").to_text() == OWN.to_text()


def test_the_check_verifies_signatures_with_the_keys_of_the_environment(
    run: Run, service: tuple[object, ...]
) -> None:
    status, out, _ = run("check", *service, "--json", keys=OWN)
    report = json.loads(out)
    assert (status, report["signatures"], report["lacking"], report["faults"]) == (0, True, [], [])
    stranger = replace(OWN, signing_key=Keyring.generate().signing_key)
    status, out, _ = run("check", *service, "--json", keys=stranger)
    assert {fault["check"] for fault in json.loads(out)["faults"]} == {"signature"}
    assert status == 1


def test_a_named_key_file_is_used(tmp_path: Path, run: Run, service: tuple[object, ...]) -> None:
    save_new(OWN, tmp_path / "named.json")
    words = ("check", *service, "--key-file", tmp_path / "named.json", "--json")
    assert run(*words, keys=Keyring.generate())[0] == 0


def test_the_check_names_the_keys_that_running_games_lack(
    tmp_path: Path, run: Run, service: tuple[object, ...]
) -> None:
    """The stored data is consistent, but the hands of a running game cannot be decrypted."""
    save_new(LATER, tmp_path / "data" / "keys.json")
    status, out, err = run("check", *service)
    assert (status, "no faults" in out) == (1, True)
    assert f"has no key {OWN.current}, which running games need" in err
    assert json.loads(run("check", *service, "--json")[1])["lacking"] == [OWN.current]


@pytest.mark.parametrize("existing", [None, LATER])
def test_a_restore_names_the_keys_that_the_service_will_miss(
    stored_games: StoredGames,
    empty_database_url: str,
    tmp_path: Path,
    run: Run,
    existing: Keyring | None,
) -> None:
    """Finished games can be restored without the key, so the restore is not refused."""
    path, data = backed_up(stored_games, tmp_path)[0], tmp_path / "data"
    if existing is not None:
        save_new(existing, data / "keys.json")
    words = ("restore", path, "--database-url", empty_database_url, "--data", data, "--json")
    status, out, err = run(*words)
    assert (status, json.loads(out)["lacking"]) == (0, [OWN.current])
    assert f"{data / 'keys.json'} has no key {OWN.current}, which running games need" in err


def test_a_restore_prints_no_warning_if_the_keys_exist(
    stored_games: StoredGames, empty_database_url: str, tmp_path: Path, run: Run
) -> None:
    path, data = backed_up(stored_games, tmp_path)[0], tmp_path / "data"
    words = ("restore", path, "--database-url", empty_database_url, "--data", data, "--json")
    status, out, err = run(*words, keys=OWN)
    assert (status, json.loads(out)["lacking"], err) == (0, [], "")
    signed = parse_checkpoint(parse_note((data / "log.checkpoint").read_bytes()).text)
    assert signed.size == json.loads(out)["leaves"], "the size from which the sequencer continues"


def test_keys_that_do_not_fit_the_running_games_are_refused(
    stored_games: StoredGames, empty_database_url: str, tmp_path: Path, run: Run
) -> None:
    path, data = backed_up(stored_games, tmp_path)[0], tmp_path / "data"
    save_new(LATER, tmp_path / "later.json")
    words = ("restore", path, "--database-url", empty_database_url, "--data", data)
    status, _, err = run(*words, "--keys", tmp_path / "later.json")
    assert status == 1
    assert f"has no key {OWN.current}" in err
    assert not data.exists()
    save_new(OWN, tmp_path / "own.json")
    status, _, err = run(*words, "--keys", tmp_path / "own.json", keys=LATER)
    assert (status, "SHITHEAD_KEYS already exists and has other keys" in err) == (1, True)
    assert run(*words, "--keys", tmp_path / "own.json")[0] == 0
    assert load(data / "keys.json").to_text() == OWN.to_text()


def test_the_operators_commands_use_the_same_keys(
    stored_games: StoredGames, tmp_path: Path, run: Run
) -> None:
    """A game without its key can never continue, so the report names each."""
    words = ("admin", "--database-url", stored_games.url, "--data", tmp_path / "data", "stuck")
    assert f"needs key {OWN.current}" not in run(*words, keys=OWN)[1]
    status, out, _ = run(*words, keys=LATER)
    assert (status, f"needs key {OWN.current}" in out) == (2, True)
    status, _, err = run(*words)
    assert (status, "keys.json does not exist" in err) == (1, True)
