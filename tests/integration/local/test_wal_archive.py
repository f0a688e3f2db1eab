"""The archive of the embedded PostgreSQL, and recovery from it into a new folder."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from service.cli.__main__ import run as command
from service.keys import load_or_create
from service.local import wal_archive
from service.local.processes import EmbeddedError
from service.local.recovery import recovered
from service.local.servers import EmbeddedPostgres
from service.local.wal_archive import ArchiveFolder, WalArchive, release
from service.public_log.signed_checkpoints import WalPosition
from service.shx.bundle import read_bundle
from service.store.database import Database
from service.store.migrate import migrate
from service.store.postgres_events import PostgresStore
from tests.examples import spread
from tests.running import wait_for
from tests.streams import append, commit
from tests.tamper import sample_lines

pytestmark = pytest.mark.heavy


@contextmanager
def archived(
    data: Path, folder: Path, *, synchronous: bool = False, every: float = 86_400.0
) -> Iterator[tuple[EmbeddedPostgres, WalArchive]]:
    """Run a server and its archive; the server is stopped first, as by `up`."""
    server = EmbeddedPostgres(data)
    archive = WalArchive(folder, server, synchronous=synchronous, every=every)
    with ExitStack() as stack:
        stack.callback(archive.stop)
        stack.callback(server.stop)
        server.start()
        archive.start()
        yield server, archive


def run(url: str, *statements: str) -> object:
    """Run statements, each in a transaction; return the first value of the last one."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement.encode())
        row = cursor.fetchone() if cursor.description else None
    return row and row[0]


def wait_until_archived(url: str) -> None:
    question = "SELECT restart_lsn >= pg_current_wal_flush_lsn() FROM pg_replication_slots"
    wait_for(lambda: run(url, question), seconds=60)


def take_another(archive: WalArchive) -> None:
    """Wait until a base backup that is due was taken."""
    before = archive.newest
    wait_for(lambda: archive.supervise() == [] and archive.newest != before, seconds=60)


def test_nothing_acknowledged_is_missing_after_the_disk_is_lost_twice(tmp_path: Path) -> None:
    """With --wal-archive-sync, each time the postmaster is killed right after a commit."""
    folder = tmp_path / "archive"
    rows = 0
    for life in ("first", "second"):
        with archived(tmp_path / life, folder, synchronous=True) as (server, _archive):
            run(server.url, "CREATE TABLE IF NOT EXISTS t (i int)")
            with psycopg.connect(server.url, autocommit=True) as connection:
                for _ in range(50):
                    connection.execute("INSERT INTO t VALUES (1)")
                    rows += 1
                assert server.process is not None
                server.process.send_signal(signal.SIGKILL)
        with recovered(folder, tmp_path / f"after {life}") as found:
            assert run(found.url, "SELECT count(*) FROM t") == rows
            assert found.faults == ()
            assert time.time() - 60 < found.until.timestamp() <= time.time()
        (tmp_path / f"after {life}").rename(
            tmp_path / "second" if life == "first" else tmp_path / "x"
        )


def test_the_archive_goes_on_by_itself(tmp_path: Path) -> None:
    """
    A base backup by schedule replaces older ones with their WAL, and pg_receivewal is restarted.

    A damaged base backup is passed over: the one before it and the WAL since lead to the same rows.
    """
    folder = tmp_path / "archive"
    files = ArchiveFolder(folder)
    with archived(tmp_path / "data", folder, every=0.0) as (server, archive):
        first = files.base_backups()
        run(server.url, "CREATE TABLE t (i int)")
        for _ in range(2):
            run(server.url, "INSERT INTO t VALUES (1)", "SELECT pg_switch_wal()", "CHECKPOINT")
            take_another(archive)
        assert len(files.base_backups()) == 2
        assert first[0] not in files.base_backups()
        assert archive._receiver is not None
        archive._receiver.kill()
        run(server.url, "INSERT INTO t VALUES (1)")
        wait_for(lambda: archive.supervise() == [archive.name], seconds=60)
        wait_until_archived(server.url)
        assert "000000010000000000000001" not in files.segments()
        assert_nothing_is_written_to_another_disk(archive, folder)
    complete = files.base_backups()
    damaged = complete[-1] / "global" / "pg_control"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    with recovered(folder, tmp_path / "new") as found:
        assert run(found.url, "SELECT count(*) FROM t") == 3
        assert found.base == complete[-2].name
        assert found.faults == ("changes were acknowledged before they were in the archive",)
    assert_the_command_undoes_what_it_cannot_finish(folder, tmp_path)
    for base in complete:
        (base / "backup_manifest").unlink()
    with (
        pytest.raises(EmbeddedError, match="no usable base backup"),
        recovered(folder, tmp_path / "other"),
    ):
        pass


def test_a_receiver_that_hangs_is_replaced_and_the_change_that_waits_for_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped or hung, it does not end, and with --wal-archive-sync every change waits for it."""
    monkeypatch.setattr(wal_archive, "HUNG_SECONDS", 4.0)
    monkeypatch.setattr(wal_archive, "_STATUS_SECONDS", 1)
    monkeypatch.setattr(wal_archive, "_LOOK_SECONDS", 0.2)
    with (
        archived(tmp_path / "data", tmp_path / "archive", synchronous=True) as (server, archive),
        ThreadPoolExecutor(1) as pool,
    ):
        end = time.monotonic() + 6
        while time.monotonic() < end:
            assert archive.supervise() == [], "it is idle, and does not hang"
            time.sleep(0.1)
        hung = archive._receiver
        assert hung is not None
        hung.send_signal(signal.SIGSTOP)
        waiting = pool.submit(run, server.url, "CREATE TABLE t (i int)")
        try:
            wait_for(lambda: archive.supervise() == [archive.name], seconds=30)
        finally:
            hung.send_signal(signal.SIGCONT)  # else the change, and so this test, would never end
        waiting.result(timeout=30)


def test_the_base_backups_are_the_folders_named_by_a_time(tmp_path: Path) -> None:
    files = ArchiveFolder(tmp_path)
    assert files.newest() is None
    for name in ("20261124T150459Z", "20261125T150459Z", "20261126T150459Z.partial", "notesZ"):
        (files.base / name).mkdir(parents=True)
    assert [folder.name[:8] for folder in files.base_backups()] == ["20261124", "20261125"]
    began = datetime(2026, 11, 25, 15, 4, 59, tzinfo=UTC)
    assert files.newest() == began.timestamp()
    assert [folder.name[:8] for folder in files.base_backups(began)] == ["20261124"]


def test_lost_wal_leads_to_a_base_backup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No recovery could go beyond a segment that somebody deleted while the archive was written."""
    monkeypatch.setattr(wal_archive, "_LOOK_SECONDS", 0.2)
    files = ArchiveFolder(tmp_path / "archive")
    with archived(tmp_path / "data", files.path) as (server, archive):
        for _ in range(2):
            run(server.url, "SELECT txid_current(), pg_switch_wal()")
        wait_until_archived(server.url)
        [newest] = files.base_backups()
        assert files.missing(newest) == []
        lost = sorted(name for name in files.segments() if len(name) == 24)[-2]
        files.segments()[lost].unlink()
        assert files.missing(newest) == [lost]
        take_another(archive)
        assert files.missing(files.base_backups()[-1]) == []


def test_a_receiver_that_ends_at_once_is_started_again_after_a_growing_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As while the disk of the archive is full."""
    with archived(tmp_path / "data", tmp_path / "archive") as (_server, archive):
        pauses = []
        for _ in range(8):
            assert archive._receiver is not None
            archive._receiver.kill()
            archive._receiver.wait()
            monkeypatch.setattr(archive, "_due", 0.0)
            assert archive.supervise() == [archive.name]
            pauses.append(round(archive._due - archive._received))
        assert pauses == [2, 4, 8, 16, 32, 60, 60, 60]
        monkeypatch.setattr(archive, "_received", -60.0)
        assert archive._receiver is not None
        archive._receiver.kill()
        archive._receiver.wait()
        monkeypatch.setattr(archive, "_due", 0.0)
        archive.supervise()
        assert round(archive._due - archive._received) == 1


SEGMENT = 16 << 20


@pytest.fixture(scope="module")
def of_two_lives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A synchronous archive with several segments of WAL on each of two timelines."""
    path = tmp_path_factory.mktemp("lives")
    for life in ("first", "second"):
        with archived(path / life, path / "archive", synchronous=True) as (server, _archive):
            run(server.url, "CREATE TABLE IF NOT EXISTS t (i int)")
            for _ in range(3):
                run(server.url, "INSERT INTO t VALUES (1)", "SELECT pg_switch_wal()")
            run(server.url, "INSERT INTO t VALUES (1)")
        if life == "first":
            with recovered(path / "archive", path / "second"):
                pass
    return path / "archive"


def a_copy(archive: Path, tmp_path: Path) -> tuple[Path, list[Path]]:
    """Return a copy of an archive, and its segments on the newest timeline in order."""
    copy = tmp_path / "archive"
    shutil.copytree(archive, copy, symlinks=True)
    return copy, sorted((copy / "wal").glob("00000002????????????????*"))


def damage(segment: Path, at: int) -> None:
    """Change a byte of a segment."""
    data = bytearray(segment.read_bytes())
    data[at] ^= 0xFF
    segment.write_bytes(data)


def test_an_archive_that_is_whole_has_no_fault(of_two_lives: Path, tmp_path: Path) -> None:
    """Both timelines are replayed; a checkpoint and its position are needed beside that."""
    with recovered(of_two_lives, tmp_path / "new") as found:
        assert run(found.url, "SELECT count(*) FROM t") == 8
        near = WalPosition(leaves=5, cluster=found.cluster, position=found.end)
        beyond = replace(near, position=f"{found.end.split('/')[0]}/FFFFFFFF")
        assert found.doubts(5, [near]) == []
        assert found.doubts(4, [near, replace(beyond, cluster="another")]) == []
        assert "no --checkpoint" in str(found.doubts(None, [near]))
        assert "has no position" in str(found.doubts(6, [near]))
        assert "has no position" in str(found.doubts(5, [replace(near, cluster="another")]))
        assert f"now ends at {found.end}" in str(found.doubts(5, [beyond]))


@pytest.mark.parametrize("how", ["middle", "short", "old timeline", "history", "byte"])
def test_an_archive_with_a_gap_is_refused_and_the_gap_is_named(
    of_two_lives: Path, tmp_path: Path, how: str
) -> None:
    """PostgreSQL alone would end its recovery there, as if nothing followed."""
    archive, segments = a_copy(of_two_lives, tmp_path)
    middle = segments[-3]
    match how:
        case "middle":
            middle.unlink()
        case "short":
            middle.write_bytes(middle.read_bytes()[: SEGMENT // 2])
        case "old timeline":
            middle = archive / "wal" / "000000010000000000000002"
            middle.unlink()
        case "history":
            middle = archive / "wal" / "00000002.history"
            middle.unlink()
        case "byte":
            damage(middle, 0x70)
    named = "damaged at" if how == "byte" else middle.name
    with (
        pytest.raises(EmbeddedError, match=rf"{named}.* goes on to {segments[-1].stem}"),
        recovered(archive, tmp_path / "new"),
    ):
        pass


@pytest.mark.parametrize("cut", spread([1, 2, 4], 2))
def test_an_archive_whose_end_was_cut_off_shows_no_completeness(
    of_two_lives: Path, tmp_path: Path, cut: int
) -> None:
    """Also if all segments of the newest timeline are missing, of which its history is left."""
    archive, segments = a_copy(of_two_lives, tmp_path)
    for segment in segments[-cut:]:
        segment.unlink()
    with recovered(archive, tmp_path / "new") as found:
        assert "between two segments" in str(found.faults)
        assert found.doubts(1, [WalPosition(leaves=1, cluster=found.cluster, position="0/1")])


def test_damage_in_the_last_segment_is_no_end(of_two_lives: Path, tmp_path: Path) -> None:
    archive, segments = a_copy(of_two_lives, tmp_path)
    written = len(segments[-1].read_bytes().rstrip(b"\0"))
    damage(segments[-1], written - 200)
    with recovered(archive, tmp_path / "new") as found:
        assert "which is damaged" in str(found.faults)


@pytest.mark.parametrize("synchronous", spread([True, False], 2))
def test_an_archive_is_not_overwritten_by_a_database_that_was_set_back(
    tmp_path: Path, *, synchronous: bool
) -> None:
    """The copy of the folder can end in the segment of WAL that the archive has further."""
    data, folder, copy = tmp_path / "data", tmp_path / "archive", tmp_path / "copy"
    with archived(data, folder, synchronous=synchronous) as (server, _archive):
        run(server.url, "CREATE TABLE t (i int)")
    shutil.copytree(data / "postgres", copy, symlinks=True)
    with archived(data, folder, synchronous=synchronous) as (server, _archive):
        run(server.url, "INSERT INTO t VALUES (1)")
        wait_until_archived(server.url)
    shutil.rmtree(data / "postgres")
    copy.rename(data / "postgres")
    before = {path: path.read_bytes() for path in (folder / "wal").iterdir()}
    with (
        pytest.raises(EmbeddedError, match="is ahead of the database"),
        archived(data, folder, synchronous=synchronous),
    ):
        pass
    assert {path: path.read_bytes() for path in (folder / "wal").iterdir()} == before
    with recovered(folder, tmp_path / "new") as found:
        assert run(found.url, "SELECT count(*) FROM t") == 1


def test_a_database_that_was_killed_again_and_again_continues_its_archive(tmp_path: Path) -> None:
    """Each time in the middle of writes, so that the WAL ends within a record."""
    for life in range(3):
        with (
            archived(tmp_path / "data", tmp_path / "archive") as (server, _archive),
            psycopg.connect(server.url, autocommit=True) as connection,
        ):
            connection.execute("CREATE TABLE IF NOT EXISTS t (i int, x text)")
            many = (
                "INSERT INTO t SELECT i, repeat(md5(i::text), 50) FROM generate_series(1, 9000) i"
            )
            connection.execute("SET synchronous_commit = off")
            connection.execute(many)
            assert server.process is not None
            killing = threading.Timer(0.03 * life, server.process.send_signal, [signal.SIGKILL])
            killing.start()
            with contextlib.suppress(psycopg.Error):
                for _ in range(50):
                    connection.execute(many)
            killing.join()


def test_events_that_were_changed_are_read_as_they_were_at_a_past_time(tmp_path: Path) -> None:
    """The archive has the change as well, and the right events before it."""
    folder, file, lines = tmp_path / "archive", tmp_path / "game.shx", sample_lines("egilsson")
    game = UUID(json.loads(lines[0])["game"])
    words = ["recover", str(folder), "--game", str(game), "--to", str(file)]

    def written(at: datetime) -> int:
        return command([*words, "--data", str(tmp_path / "new"), "--until", f"{at:%FT%TZ}"])

    begun = datetime.now(UTC)
    with archived(tmp_path / "data", folder) as (server, _archive):
        migrate(server.url)
        with closing(Database(server.url, size=1)) as database:
            PostgresStore(database).commit(commit(append(game, *lines)))
        time.sleep(1.1)
        right = datetime.now(UTC)
        time.sleep(1.1)
        run(
            server.url,
            "ALTER TABLE events DISABLE TRIGGER ALL",
            "UPDATE events SET line = 'x' WHERE seq = 0",
        )
        wait_until_archived(server.url)
        assert written(right) == 0
    assert read_bundle(file.read_bytes()).lines == lines
    assert not (tmp_path / "new").exists()
    file.unlink()
    for unknown in (begun - timedelta(seconds=2), begun + timedelta(days=1)):
        assert written(unknown) == 1
    assert not file.exists()


def assert_nothing_is_written_to_another_disk(archive: WalArchive, folder: Path) -> None:
    """An empty folder in its place, as of a drive that is not mounted, gets no base backup."""
    elsewhere = folder.with_name("unmounted")
    archive._every = 86_400.0
    wait_for(lambda: archive.supervise() == [] and archive._taking is None, seconds=60)
    folder.rename(elsewhere)
    folder.mkdir()
    for _ in range(3):
        archive.supervise()
    assert list(folder.iterdir()) == []
    folder.rmdir()
    elsewhere.rename(folder)


def assert_the_command_undoes_what_it_cannot_finish(folder: Path, tmp_path: Path) -> None:
    """This database is not one of the service; and without the keys nothing is begun."""
    data, keys = tmp_path / "command", tmp_path / "keys.json"
    words = ["recover", str(folder), "--data", str(data), "--key-file", str(keys)]
    assert command(words) == 1
    load_or_create(keys)
    assert command(words) == 1
    assert not data.exists()


def test_an_archive_refuses_another_database_and_a_gap(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "archive"
    with archived(tmp_path / "data", folder):
        pass
    with pytest.raises(EmbeddedError, match="another database"), archived(tmp_path / "b", folder):
        pass
    server = EmbeddedPostgres(tmp_path / "data")
    server.start()
    release(server)
    assert "not archived any more" in capsys.readouterr().err
    assert run(server.url, "SELECT count(*) FROM pg_replication_slots") == 0
    for _ in range(3):
        run(server.url, "SELECT txid_current(), pg_switch_wal()", "CHECKPOINT")
    server.stop()
    with pytest.raises(EmbeddedError, match="never archived"), archived(tmp_path / "data", folder):
        pass
