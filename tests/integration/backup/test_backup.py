"""Backups: their content, the restored data, and refused files."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from service.application.calls import RegisteredPlayer
from service.backup.backup import BackupError, back_up, restore
from service.bootstrap import Services
from service.store.database import query
from service.store.migrate import check as check_migrated
from tests.integration.backup.conftest import NOW, StoredGames, backed_up
from tests.worlds.fake_world import (
    KEYS,
    Deployment,
    assert_sound,
    entry_of,
    legal,
    lines_of,
    play_out,
    post,
)


def occupied(url: str) -> list[str]:
    """Return the names of some objects in a database; a restore refuses it if there are any."""
    with psycopg.connect(url) as connection:
        return [name for (name,) in connection.execute(query("restore_occupied")).fetchall()]


def rewritten(path: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """Return a backup with changed files."""
    with zipfile.ZipFile(path) as old:
        files = {name: old.read(name) for name in old.namelist()}
    change(files)
    other = path.with_name("changed.backup")
    with zipfile.ZipFile(other, "w") as new:
        for name, data in files.items():
            new.writestr(name, data)
    return other


def with_manifest(files: dict[str, bytes], change: Callable[[Any], None]) -> None:
    """Change the manifest."""
    manifest = json.loads(files["manifest.json"])
    change(manifest)
    files["manifest.json"] = json.dumps(manifest).encode()


def test_a_restore_brings_back_every_row(
    stored_games: StoredGames, empty_database_url: str, tmp_path: Path
) -> None:
    """A backup of the restored database has the same bytes in every table."""
    path, manifest = backed_up(stored_games, tmp_path)
    assert restore(empty_database_url, path) == manifest
    check_migrated(empty_database_url)
    again = back_up(empty_database_url, tmp_path / "two.backup", now=NOW)
    assert again == manifest
    assert (manifest.games, manifest.running) == (2, 1)
    assert manifest.keys == (KEYS.current,)
    assert {"events", "players", "log_leaves", "secrets"} <= manifest.tables.keys()


@pytest.mark.heavy
def test_restored_running_games_continue_and_finished_games_are_unchanged(
    stored_games: StoredGames, empty_database_url: str, tmp_path: Path
) -> None:
    finished = stored_games.play_another()
    path, _ = backed_up(stored_games, tmp_path)
    before = lines_of(stored_games.services, stored_games.running)
    whole = lines_of(stored_games.services, finished)
    restore(empty_database_url, path)
    deployment = Deployment(url=empty_database_url, world=stored_games.deployment.world)
    try:
        services = deployment.process()
        assert lines_of(services, stored_games.running) == before
        play_out(services, stored_games.running, after=lambda: _act(services, stored_games))
        assert lines_of(services, stored_games.running)[: len(before)] == before
        assert_sound(services, stored_games.running)
        assert lines_of(services, finished) == whole
        assert_sound(services, finished)
    finally:
        deployment.close()


def _act(services: Services, stored_games: StoredGames) -> None:
    """Let Ada make a move if she is on turn."""
    entry = entry_of(services, stored_games.running)
    player = entry.players[0]
    assert player is not None
    if entry.record.game.turn == 0:
        move = legal(services, stored_games.running, 0)[0]
        post(services, RegisteredPlayer(id=player, name="Ada"), stored_games.running, move)


def test_a_restored_record_is_append_only(
    stored_games: StoredGames, empty_database_url: str, tmp_path: Path
) -> None:
    restore(empty_database_url, backed_up(stored_games, tmp_path)[0])
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        for statement in ("UPDATE events SET line = ''", "DELETE FROM log_leaves"):
            with pytest.raises(psycopg.Error, match="is refused"):
                connection.execute(statement)
        [(open_to_all,)] = connection.execute(
            "SELECT count(*) FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace "
            "AND has_function_privilege('public', p.oid, 'EXECUTE')"
        ).fetchall()
    assert open_to_all == 0


def test_a_backup_file_is_private_and_holds_no_key(
    stored_games: StoredGames, tmp_path: Path
) -> None:
    path, _ = backed_up(stored_games, tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    keys = json.loads(KEYS.to_text())
    secret = [*keys["keys"].values(), keys["signing"], keys["bots"]]
    with zipfile.ZipFile(path) as file:
        text = b"".join(file.read(name) for name in file.namelist()).decode()
    assert not [one for one in secret if one in text]
    with pytest.raises(BackupError, match="already exists"):
        back_up(stored_games.url, path, now=NOW)


def test_a_backup_that_fails_leaves_no_file(empty_database_url: str, tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="not a database of the service"):
        back_up(empty_database_url, tmp_path / "one.backup", now=NOW)
    assert not list(tmp_path.iterdir())


def test_a_database_that_is_not_empty_is_refused(
    stored_games: StoredGames, empty_database_url: str, tmp_path: Path
) -> None:
    path, _ = backed_up(stored_games, tmp_path)
    with psycopg.connect(empty_database_url) as connection:
        connection.execute("CREATE TABLE mine (one integer)")
    with pytest.raises(BackupError, match=r"not empty \(it has mine"):
        restore(empty_database_url, path)
    assert occupied(empty_database_url) == ["mine"]


def _other_rows(files: dict[str, bytes]) -> None:
    files["events.copy"] = files["events.copy"].replace(b"\t0\t", b"\t9\t", 1)


def _fewer_files(files: dict[str, bytes]) -> None:
    del files["players.copy"]


def _more_files(files: dict[str, bytes]) -> None:
    files["another.copy"] = b""


def _a_later_release(files: dict[str, bytes]) -> None:
    with_manifest(files, lambda m: m["migrations"].update({"9999_later": "00" * 32}))


def _made_before_this_release(files: dict[str, bytes]) -> None:
    with_manifest(files, lambda m: m.update(migrations={"0001_the_record": "00" * 32}))


def _a_changed_migration(files: dict[str, bytes]) -> None:
    with_manifest(files, lambda m: m["migrations"].update({"0001_schema": "00" * 32}))


def _a_later_format(files: dict[str, bytes]) -> None:
    with_manifest(files, lambda m: m.update(v=2))


def _no_manifest(files: dict[str, bytes]) -> None:
    files["manifest.json"] = b"[]"


def _rows_without_an_event(files: dict[str, bytes]) -> None:
    """Remove the last event of the longest stream, and adapt the manifest to it."""
    rows = files["events.copy"].splitlines(keepends=True)
    last = max(rows, key=lambda row: int(row.split(b"\t")[1]))
    data = b"".join(row for row in rows if row is not last)
    files["events.copy"] = data

    def change(manifest: Any) -> None:
        digest = hashlib.sha256(data).hexdigest()
        manifest["tables"]["events"].update(rows=len(rows) - 1, sha256=digest)

    with_manifest(files, change)


def _a_wrong_row_count(files: dict[str, bytes]) -> None:
    with_manifest(files, lambda m: m["tables"]["players"].update(rows=7))


def _an_unknown_table(files: dict[str, bytes]) -> None:
    files["pg_authid.copy"] = b""
    empty = {"columns": ["rolname"], "rows": 0, "sha256": hashlib.sha256(b"").hexdigest()}
    with_manifest(files, lambda m: m["tables"].update(pg_authid=empty))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_other_rows, "the rows of events are not those that were backed up"),
        (_fewer_files, "not those in its manifest"),
        (_more_files, "not those in its manifest"),
        (_a_later_release, "belongs to a later one"),
        (_made_before_this_release, "made before 0.1.0, which this release neither migrates"),
        (_a_changed_migration, "was changed after it had been applied"),
        (_a_later_format, "has a later format"),
        (_no_manifest, "is not the manifest of a backup"),
        (
            _rows_without_an_event,
            "1 streams in the backup have a last event that is not their head",
        ),
        (_a_wrong_row_count, "players has 2 rows, but 7 were backed up"),
        (_an_unknown_table, "table pg_authid of the backup"),
    ],
)
def test_a_changed_backup_is_refused_and_nothing_is_written(
    stored_games: StoredGames,
    empty_database_url: str,
    tmp_path: Path,
    change: Callable[[dict[str, bytes]], None],
    reason: str,
) -> None:
    path = rewritten(backed_up(stored_games, tmp_path)[0], change)
    with pytest.raises(BackupError, match=reason.replace("(", r"\(")):
        restore(empty_database_url, path)
    assert occupied(empty_database_url) == []


def test_a_file_that_is_not_a_backup_is_refused(empty_database_url: str, tmp_path: Path) -> None:
    path = tmp_path / "one"
    path.write_bytes(b"a dump")
    with pytest.raises(BackupError, match="is not a backup"):
        restore(empty_database_url, path)


def test_a_backup_older_than_the_published_log_is_refused(
    stored_games: StoredGames, empty_database_url: str, tmp_path: Path
) -> None:
    """A log restored from it would sign a second tree."""
    path, manifest = backed_up(stored_games, tmp_path)
    stored_games.play_another()
    with pytest.raises(BackupError, match=f"this backup has {manifest.leaves}"):
        restore(empty_database_url, path, checkpoint=stored_games.checkpoint())
    assert occupied(empty_database_url) == []


def test_a_checkpoint_of_another_log_is_refused(
    stored_games: StoredGames, empty_database_url: str, tmp_path: Path
) -> None:
    path, manifest = backed_up(stored_games, tmp_path)
    seen = stored_games.checkpoint()
    other = seen.replace(seen.splitlines()[2], b"A" * 43 + b"=", 1)
    with pytest.raises(BackupError, match="does not belong to the public log in this backup"):
        restore(empty_database_url, path, checkpoint=other)
    assert occupied(empty_database_url) == []
    assert restore(empty_database_url, path, checkpoint=seen) == manifest
