"""Restored backups: ended tokens, erased players, and the authenticity of the file."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from service.cli.__main__ import run as shithead
from service.keys import Keyring, load_or_create
from service.runtime.config import ERASURES
from tests.worlds.api_world import Person, World, make_world

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a command."""

    def call(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        status = shithead([str(word) for word in words])
        output = capsys.readouterr()
        return status, output.out, output.err

    return call


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """Return the key file of the service that is backed up."""
    load_or_create(tmp_path / "old" / "keys.json")
    return tmp_path / "old" / "keys.json"


@pytest.fixture
def world(database_url: str, keys: Path) -> Iterator[World]:
    """Return the service that is backed up."""
    made = make_world(database_url, keys=None, key_file=keys)
    yield made
    made.services.close()


def make_backup(run: Run, database_url: str, keys: Path, path: Path) -> None:
    """Make a backup with the command."""
    words = ("backup", path, "--database-url", database_url, "--key-file", keys)
    status, out, err = run(*words)
    assert status == 0, (out, err)


def restore_backup(run: Run, url: str, path: Path, folder: Path, *more: object) -> tuple[str, str]:
    """Restore a backup into an empty database with the command; return its output."""
    words = ("restore", path, "--database-url", url, "--data", folder, *more)
    status, out, err = run(*words)
    assert status == 0, (out, err)
    return out, err


def restored(url: str, keys: Path, person: Person) -> Person:
    """Return the same person at the restored service."""
    world = make_world(url, keys=None, key_file=keys)
    return replace(person, world=world)


def test_after_a_restore_that_ends_tokens_only_recovery_codes_work(
    world: World, database_url: str, empty_database_url: str, keys: Path, tmp_path: Path, run: Run
) -> None:
    ada = world.person("Ada")
    make_backup(run, database_url, keys, tmp_path / "b")
    out, _ = restore_backup(
        run, empty_database_url, tmp_path / "b", tmp_path / "new", "--keys", keys, "--end-tokens"
    )
    assert "1 tokens ended" in out
    restored_ada = restored(empty_database_url, keys, ada)
    assert restored_ada.get("/v1/players/me").status_code == 401
    answer = restored_ada.world.client.post("/v1/players/recover", json={"recovery": ada.recovery})
    assert answer.status_code in (200, 201), answer.text
    assert (
        replace(restored_ada, token=answer.json["token"]).get("/v1/players/me").status_code == 200
    )
    restored_ada.world.services.close()


def test_tokens_remain_valid_unless_the_option_ends_them(
    world: World, database_url: str, empty_database_url: str, keys: Path, tmp_path: Path, run: Run
) -> None:
    ada = world.person("Ada")
    make_backup(run, database_url, keys, tmp_path / "b")
    restore_backup(run, empty_database_url, tmp_path / "b", tmp_path / "new", "--keys", keys)
    restored_ada = restored(empty_database_url, keys, ada)
    assert restored_ada.get("/v1/players/me").status_code == 200
    restored_ada.world.services.close()


@pytest.mark.attack("OLD_STATE", "tokens and erased players of a backup", check="the restore")
def test_players_erased_after_the_backup_are_erased_again(
    world: World, database_url: str, empty_database_url: str, keys: Path, tmp_path: Path, run: Run
) -> None:
    ada, bob = world.person("Ada Unmistakable"), world.person("Bob")
    note = {"text": "Ada was here", "visibility": "me"}
    assert ada.call("PUT", f"{bob.game()}/notes/1", json=note).status_code == 200
    assert bob.call("PUT", f"/v1/players/me/blocks/{ada.id}").status_code == 200
    hand = {"game": bob.table()["game"], "version": 1, "as": "public"}
    moment = {**hand, "list": "Ada's", "text": "Mine."}
    assert ada.post("/v1/players/me/moments", moment).status_code == 201
    assert ada.post("/v1/seeks", {"rulesets": ["leeds"], "seats": 2}).status_code == 201
    handle = {"handle": "unmistakable"}
    assert ada.call("PUT", "/v1/players/me/handle", json=handle).status_code == 200
    assert bob.post("/v1/challenges", {"player": ada.id, "ruleset": "leeds"}).status_code == 201
    hook = {"url": "https://bots.example/"}
    assert ada.call("PUT", "/v1/players/me/webhook", json=hook).status_code == 200
    bob.table("open", invited=[ada.id])
    with psycopg.connect(database_url) as owner:
        owner.execute(
            "INSERT INTO webhook_deliveries (player_id, type, id, mark, body, found_at)"
            " VALUES (%s, 'hand_sealed', gen_random_uuid(), 1, '{}', now())",
            (ada.id,),
        )
    assert {
        "webhooks",
        "webhook_deliveries",
        "invitations",
        "handles",
        "challenges",
        "moments",
    } < naming(database_url, ada)
    make_backup(run, database_url, keys, tmp_path / "b")
    assert ada.call("DELETE", "/v1/players/me").status_code == 204
    assert world.services.erasures.record() == 1
    listed = keys.with_name(ERASURES)
    out, _ = restore_backup(
        *(run, empty_database_url, tmp_path / "b", tmp_path / "new"),
        *("--keys", keys, "--erasures", listed),
    )
    assert "1 players erased again" in out
    with psycopg.connect(empty_database_url) as owner:
        names = {name for (name,) in owner.execute("SELECT name FROM players").fetchall()}
    assert names == {None, "Bob"}
    assert naming(empty_database_url, ada) == naming(database_url, ada) == {"players"}
    restored_bob = restored(empty_database_url, keys, bob)
    assert restored_bob.get("/v1/players/me").status_code == 200
    restored_bob.world.services.close()
    assert (tmp_path / "new" / ERASURES).read_text() == listed.read_text()


def naming(url: str, person: Person) -> set[str]:
    """Return the tables with a row that has the id of a person, in any column of ids."""
    with psycopg.connect(url) as owner:
        columns = owner.execute(
            "SELECT table_name, column_name FROM information_schema.columns"
            " JOIN information_schema.tables USING (table_schema, table_name)"
            " WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND data_type = 'uuid'"
        ).fetchall()
        return {
            table
            for table, column in columns
            if owner.execute(
                sql.SQL("SELECT FROM {} WHERE {} = %s LIMIT 1").format(
                    sql.Identifier(table), sql.Identifier(column)
                ),
                (person.id,),
            ).fetchall()
        }


def test_a_player_whose_hand_was_running_at_the_backup_is_erased_again(
    world: World, database_url: str, empty_database_url: str, keys: Path, tmp_path: Path, run: Run
) -> None:
    """The hand ended before the erasure, but in the backup it is running."""
    ada = world.person("Ada Unmistakable")
    game = ada.game()
    make_backup(run, database_url, keys, tmp_path / "b")
    assert ada.post(f"{game}/moves", {"type": "forfeit"}).status_code == 201
    assert ada.call("DELETE", "/v1/players/me").status_code == 204
    assert world.services.erasures.record() == 1
    out, _ = restore_backup(
        *(run, empty_database_url, tmp_path / "b", tmp_path / "new"),
        *("--keys", keys, "--erasures", keys.with_name(ERASURES)),
    )
    assert "1 players erased again" in out
    restored_ada = restored(empty_database_url, keys, ada)
    assert restored_ada.get("/v1/players/me").status_code == 401
    seats = restored_ada.world.get(game).json["seats"]
    assert "Ada Unmistakable" not in [seat["name"] for seat in seats]
    restored_ada.world.services.close()


def test_the_list_of_erasures_has_each_erasure_once_and_no_name(world: World, keys: Path) -> None:
    listed = keys.with_name(ERASURES)
    people = [world.person(f"Unmistakable {number}") for number in range(3)]
    for person in people[:2]:
        assert person.call("DELETE", "/v1/players/me").status_code == 204
        world.services.erasures.record()
        world.services.erasures.record()
    with listed.open("a") as file:
        file.write("0000")  # the machine stopped here
    people[2].call("DELETE", "/v1/players/me")
    assert world.services.erasures.record() == 1
    lines = listed.read_text().splitlines()
    assert [UUID(line.split()[0]) for line in lines] == [UUID(person.id) for person in people]
    assert "Unmistakable" not in listed.read_text()
    assert listed.stat().st_mode & 0o077 == 0
    listed.unlink()
    assert world.services.erasures.record() == 3
    world.services.close()


def test_a_restore_without_the_list_warns_of_restored_players(
    world: World, database_url: str, empty_database_url: str, keys: Path, tmp_path: Path, run: Run
) -> None:
    make_backup(run, database_url, keys, tmp_path / "b")
    _, err = restore_backup(
        run, empty_database_url, tmp_path / "b", tmp_path / "new", "--keys", keys
    )
    assert "players erased since the backup are restored" in err
    assert re.search(
        r"if the service went on after (\S+Z), what it acknowledged since is missing: .*"
        r"`shithead admin --database-url … --key-file … declare \1`",
        err,
    )
    world.services.close()


def rewritten(path: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    """Change the files of a backup and recompute its hashes."""
    from hashlib import sha256

    with zipfile.ZipFile(path) as packed:
        files = {name: packed.read(name) for name in packed.namelist()}
    change(files)
    manifest = json.loads(files["manifest.json"])
    for table, rows in manifest["tables"].items():
        data = files[f"{table}.copy"]
        rows.update(sha256=sha256(data).hexdigest(), rows=data.count(b"\n"))
    encoded = json.dumps(manifest, indent=1, sort_keys=True).encode() + b"\n"
    files["manifest.json"] = encoded
    with zipfile.ZipFile(path, "w") as packed:
        for name, data in files.items():
            packed.writestr(name, data)


def rename_ada(files: dict[str, bytes]) -> None:
    files["players.copy"] = files["players.copy"].replace(b"Ada", b"Eve")


@pytest.mark.attack("OLD_STATE", "a changed backup with recomputed hashes", check="the restore")
def test_a_changed_backup_is_refused_even_if_its_hashes_fit(
    world: World, database_url: str, empty_database_url: str, keys: Path, tmp_path: Path, run: Run
) -> None:
    """For example with a token hash of the attacker, which no check of the log can find."""
    world.person("Ada")
    path = tmp_path / "b"
    make_backup(run, database_url, keys, path)
    rewritten(path, rename_ada)
    words = ("restore", path, "--database-url", empty_database_url, "--data", tmp_path / "new")
    status, _, err = run(*words, "--keys", keys)
    assert (status, "not the one that was signed" in err) == (1, True), err
    world.services.close()


def remove_signature(files: dict[str, bytes]) -> None:
    rename_ada(files)
    del files["manifest.sig"]


@pytest.mark.attack("OLD_STATE", "a backup without its signature", check="the restore")
@pytest.mark.parametrize("case", ["stripped", "another key", "no key", "signed"])
def test_a_restore_reports_whether_the_backup_is_authentic(
    world: World,
    database_url: str,
    empty_database_url: str,
    keys: Path,
    tmp_path: Path,
    run: Run,
    case: str,
) -> None:
    world.person("Ada")
    path, folder = tmp_path / "b", tmp_path / "new"
    make_backup(run, database_url, keys, path)
    at_hand: tuple[object, ...] = ("--keys", keys)
    if case == "stripped":
        rewritten(path, remove_signature)
    if case == "another key":
        load_or_create(tmp_path / "others.json")
        at_hand = ("--keys", tmp_path / "others.json")
    if case == "no key":
        at_hand = ()
    _, err = restore_backup(run, empty_database_url, path, folder, *at_hand)
    expected = {
        "stripped": "the backup is not signed",
        "another key": "signed with an unknown key",
        "no key": "signed with an unknown key",
    }
    if case in expected:
        assert expected[case] in err
    else:
        assert "not signed" not in err
        assert "unknown key" not in err
    world.services.close()


def test_a_signature_with_other_characters_between_its_own_is_refused(
    world: World, database_url: str, empty_database_url: str, keys: Path, tmp_path: Path, run: Run
) -> None:
    make_backup(run, database_url, keys, tmp_path / "b")

    def spoil(files: dict[str, bytes]) -> None:
        signed = json.loads(files["manifest.sig"])
        files["manifest.sig"] = json.dumps({**signed, "key": f"*{signed['key']}"}).encode()

    rewritten(tmp_path / "b", spoil)
    words = ("restore", tmp_path / "b", "--database-url", empty_database_url, "--key-file", keys)
    status, out, err = run(*words)
    assert status == 1
    assert "its manifest is not the one that was signed" in out + err
    world.services.close()


def test_a_key_retired_since_still_authenticates_a_backup(
    world: World, database_url: str, empty_database_url: str, keys: Path, tmp_path: Path, run: Run
) -> None:
    make_backup(run, database_url, keys, tmp_path / "b")
    assert run("rotate-keys", "--key-file", keys)[0] == 0
    words = ("restore", tmp_path / "b", "--database-url", empty_database_url, "--key-file", keys)
    status, out, _ = run(*words, "--json")
    assert (status, json.loads(out)["authenticity"]) == (0, "signed")
    world.services.close()


def test_a_backup_made_without_keys_is_reported_as_unsigned(
    world: World, database_url: str, tmp_path: Path, run: Run
) -> None:
    words = ("backup", tmp_path / "b", "--database-url", database_url, "--data", tmp_path / "none")
    status, _, err = run(*words)
    assert (status, "the backup is not signed" in err) == (0, True)
    assert "manifest.sig" not in zipfile.ZipFile(tmp_path / "b").namelist()
    world.services.close()


def test_the_keyring_lists_every_key_that_it_signed_with() -> None:
    one = Keyring.generate()
    two = one.with_new_signing_key(datetime(2026, 11, 21, tzinfo=UTC), overlap=timedelta(days=1))
    publics = [each.signing_key.public_key().public_bytes_raw() for each in (two, one)]
    assert one.publics == (publics[1],)
    assert two.publics == tuple(publics), "the present key first, then the one before it"
