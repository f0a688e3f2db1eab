"""Clean-up: socket folders, files of failed restores, log files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from service.cli.__main__ import run
from service.local import processes
from service.local.processes import LogRotation, Sockets, rotate_log

pytestmark = pytest.mark.heavy


def test_deleted_sockets_are_created_again(tmp_path: Path) -> None:
    sockets = Sockets(tmp_path, longest_name="s")
    sockets.folder.rmdir()
    sockets.make()
    assert sockets.folder.is_dir()
    sockets.remove()
    assert not sockets.folder.exists()


@pytest.mark.parametrize("existing", [False, True])
def test_a_failed_restore_leaves_no_files(tmp_path: Path, *, existing: bool) -> None:
    (tmp_path / "bad.backup").write_bytes(b"no backup")
    data = tmp_path / "deep" / "new"
    if existing:
        data.mkdir(parents=True, mode=0o700)
        (data / "erased-players.txt").write_text("")
    assert run(["restore", str(tmp_path / "bad.backup"), "--data", str(data)]) == 1
    if existing:
        assert [path.name for path in data.iterdir()] == ["erased-players.txt"]
    else:
        assert not (tmp_path / "deep").exists()


def test_a_full_log_is_renamed_and_three_older_ones_are_retained(tmp_path: Path) -> None:
    log = tmp_path / "postgres.log"
    for number in range(1, 6):
        log.write_bytes(b"%d" % number * 100)
        assert rotate_log(log, limit=50, kept=3)
        assert not log.exists()
    log.write_bytes(b"6" * 50)
    assert not rotate_log(log, limit=50, kept=3)
    assert log.read_bytes() == b"6" * 50
    copies = [tmp_path / f"postgres.log.{number}" for number in (1, 2, 3, 4)]
    found = [copy.read_bytes()[:1] if copy.exists() else b"" for copy in copies]
    assert found == [b"5", b"4", b"3", b""]
    log.unlink()
    assert not rotate_log(log, limit=50, kept=3), "it was moved or removed meanwhile"


def test_all_logs_of_a_folder_are_rotated_at_most_every_ten_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = [tmp_path / "API.log", tmp_path / "postgres.log"]
    rotation, rotated = LogRotation(tmp_path), list[int]()
    for now in (100.0, 109.0, 110.0):
        clock = SimpleNamespace(monotonic=partial(float, now))
        monkeypatch.setattr(processes, "time", clock)
        for log in logs:
            with log.open("wb") as file:
                file.truncate((16 << 20) + 1)
        rotation.rotate_due()
        rotated.append(sum(not log.exists() for log in logs))
    assert rotated == [2, 0, 2]
