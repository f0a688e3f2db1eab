"""Files that are there whole or not at all, whatever stops their writing."""

from __future__ import annotations

import errno
import fcntl
import multiprocessing
import os
import signal
import stat
from pathlib import Path

import pytest

from service.atomic_files import PUBLIC, folder_lock, whole_file, write_whole

FORK = multiprocessing.get_context("fork")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.json"


def names(folder: Path) -> list[str]:
    return [item.name for item in folder.iterdir()]


def test_what_was_written_goes_by_the_name_and_nothing_is_left_beside_it(path: Path) -> None:
    write_whole(path, b"one")
    write_whole(path, b"two")
    assert path.read_bytes() == b"two"
    assert names(path.parent) == ["state.json"]


def _killed(path: Path) -> None:
    with whole_file(path) as file:
        file.write(b"new")
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)


def test_killed_before_the_end_it_leaves_the_old_file_whole(path: Path) -> None:
    write_whole(path, b"old")
    process = FORK.Process(target=_killed, args=(path,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    drafts = [name for name in names(path.parent) if name != path.name]
    assert [name.startswith(".state.json.") for name in drafts] == [True]
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_a_disk_that_is_full_leaves_the_old_file_and_no_draft(
    path: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_whole(path, b"old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if call == "fsync":
        monkeypatch.setattr("service.atomic_files.os.fsync", full)
    else:
        monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(path.parent) == ["state.json"]


def test_it_is_on_disk_before_it_goes_by_its_name_and_the_name_after_that(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_whole(path, b"old")
    synced = []
    sync = os.fsync

    def seen(handle: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(handle).st_mode), path.read_bytes()))
        sync(handle)

    monkeypatch.setattr("service.atomic_files.os.fsync", seen)
    write_whole(path, b"new")
    assert synced == [(False, b"old"), (True, b"new")]


@pytest.mark.parametrize(
    ("umask", "mode", "expected"),
    [(0, None, 0o600), (0o077, None, 0o600), (0o022, PUBLIC, 0o644), (0o077, PUBLIC, 0o600)],
)
def test_it_is_its_owner_s_alone_unless_it_is_for_all(
    path: Path, umask: int, mode: int | None, expected: int
) -> None:
    """The permissions hold from the first moment, also for the temporary file of a key."""
    path.touch(mode=0o666)
    before = os.umask(umask)
    try:
        with whole_file(path) if mode is None else whole_file(path, mode=mode) as file:
            [draft] = [item for item in path.parent.iterdir() if item != path]
            assert draft.stat().st_mode & 0o777 == expected
            file.write(b"new")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == expected


def test_a_folder_that_is_missing_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "none" / "state.json", b"new")
    assert names(tmp_path) == []


def test_a_new_file_replaces_none(path: Path) -> None:
    """Also where the other one appears while the new one is written."""
    with pytest.raises(FileExistsError), whole_file(path, new=True) as file:
        file.write(b"second")
        write_whole(path, b"first", new=True)
    assert path.read_bytes() == b"first"
    assert names(path.parent) == ["state.json"]


def test_a_new_file_can_be_made_where_there_are_no_links(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a memory stick, which is where copies of keys are put."""

    def unknown(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr("service.atomic_files.os.link", unknown)
    write_whole(path, b"first", new=True)
    with pytest.raises(FileExistsError):
        write_whole(path, b"second", new=True)
    assert path.read_bytes() == b"first"
    assert names(path.parent) == ["state.json"]


def test_of_those_who_ask_for_a_folder_one_has_it(tmp_path: Path) -> None:
    handle = os.open(tmp_path, os.O_RDONLY)
    with folder_lock(tmp_path), pytest.raises(BlockingIOError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(handle)
