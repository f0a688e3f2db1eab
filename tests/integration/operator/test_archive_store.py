"""Archived games and dumps in an object store: against a real server that speaks S3."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from urllib.request import Request, urlopen
from uuid import UUID, uuid4

import pytest
from moto.server import ThreadedMotoServer

from service.cli import admin_archive
from service.local.programs import archiver, settings_of_children
from service.store.archive import Bundles
from service.store.archive_files import FolderFiles, StoredObjects
from tests.worlds.api_world import Person, World, problem_of
from tests.worlds.operator_world import Operator, process_outbox, two_seats

BUCKET = "s3://bucket/archive"
OWNER = "postgresql://owner:secret@/shithead"


@pytest.fixture(scope="module")
def store() -> Iterator[ThreadedMotoServer]:
    """Start the server, and set the variables that the tools of S3 read."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("AWS_ENDPOINT_URL", address)
        patched.setenv("AWS_REGION", "us-east-1")
        for secret in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patched.setenv(secret, "test")
        urlopen(Request(f"{address}/bucket", method="PUT")).close()
        yield server
    server.stop()


def sealed(world: World, ada: Person, bob: Person) -> UUID:
    """Return a finished game whose outbox is processed."""
    game = UUID(two_seats(ada, bob)["game"])
    assert bob.post(f"/v1/games/{game}/moves", {"type": "forfeit"}).status_code == 201
    process_outbox(world, game)
    return game


def test_games_archived_by_age_are_served_from_the_object_store(
    operator: Operator, world: World, ada: Person, bob: Person, store: ThreadedMotoServer
) -> None:
    """One line of the trail for the whole run; without its bundle a game answers 503."""
    games = [sealed(world, ada, bob) for _ in range(2)]
    before = ada.get(f"/v1/games/{games[0]}/events").data
    out = operator.done("archive", "--older-than", "0", "--to", BUCKET)
    assert f"{BUCKET}/{games[0]}.shx" in out
    assert [entry for entry in operator.trail() if entry[0] == "archive"] == [
        ("archive", None, "done archived=2 refused=0")
    ]
    assert "archived=2" in operator.done("trail", "--outcome", "done")
    assert "archived=2" not in operator.done("trail", "--outcome", "failed")
    reader = operator.world(archive=BUCKET)
    assert reader.get(f"/v1/games/{games[0]}/events").data == before
    missing = operator.world(archive=f"{BUCKET}/elsewhere").get(f"/v1/games/{games[1]}/events")
    assert (missing.status_code, problem_of(missing)) == (503, "unavailable")


def test_a_month_is_written_to_the_object_store_with_its_manifest_last(
    operator: Operator, world: World, ada: Person, bob: Person, store: ThreadedMotoServer
) -> None:
    sealed(world, ada, bob)
    month, place = f"{world.services.world.now():%Y-%m}", "s3://bucket/dump"
    database = ("--database-url", operator.database_url)
    keys = ("--key-file", operator.folder / "keys.json")
    words = ("dump", place, "--month", month, *database, *keys)
    written: list[str] = []
    upload = StoredObjects.upload

    def noted(to: StoredObjects, name: str, path: Path) -> None:
        written.append(name)
        upload(to, name, path)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(StoredObjects, "upload", noted)
        status, out, err = operator.run(*words)
    assert status == 0, (out, err)
    assert written[-1] == "dump.json"
    assert {"checkpoint", "hands-0001.tar", "index.ndjson"} < set(written)
    assert StoredObjects(place).read("hands-0001.tar")
    status, out, err = operator.run(*words)
    assert (status, "is not empty" in err) == (1, True)


def test_a_store_that_does_not_answer_archives_nothing_and_is_tried_again(
    operator: Operator,
    world: World,
    ada: Person,
    bob: Person,
    store: ThreadedMotoServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`--daily` waits an hour after a failure and a day after a run."""
    game = sealed(world, ada, bob)
    before = ada.get(f"/v1/games/{game}/events").data
    pauses: list[float] = []

    def rest(seconds: float) -> None:
        pauses.append(seconds)
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        if len(pauses) == 2:
            raise KeyboardInterrupt

    address = os.environ["AWS_ENDPOINT_URL"]
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setattr(admin_archive, "time", SimpleNamespace(sleep=rest))
    operator.admin("archive", "--older-than", "0", "--daily", "--to", BUCKET)
    assert pauses == [3600, 86400]
    assert [entry for entry in operator.trail() if entry[0] == "archive"] == [
        ("archive", None, "failed OSError archived=0 refused=0"),
        ("archive", None, "done archived=1 refused=0"),
    ]
    assert operator.world(archive=BUCKET).get(f"/v1/games/{game}/events").data == before


def test_a_bundle_that_reads_back_differently_is_not_archived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller would delete the only other copy."""
    write = FolderFiles.write
    monkeypatch.setattr(FolderFiles, "write", lambda to, name, data: write(to, name, data[:-1]))
    with pytest.raises(OSError, match="does not read back"):
        Bundles(tmp_path).keep(uuid4(), b"bundle")


def test_up_archives_by_age_as_the_owner_of_the_database(tmp_path: Path) -> None:
    """The service's role cannot archive; the address has a password and is in no command."""
    needed = {"database_url": "postgresql://shithead_service@/", "archive": BUCKET}
    assert archiver(settings_of_children(tmp_path, **needed), OWNER) == []
    settings = settings_of_children(tmp_path, **needed, archive_after_days="90")
    [program] = archiver(settings, OWNER)
    assert program.arguments[-2:] == ["--older-than", "90"]
    assert OWNER not in " ".join(program.command)
    assert program.environment == {"SHITHEAD_DATABASE_URL": OWNER}
