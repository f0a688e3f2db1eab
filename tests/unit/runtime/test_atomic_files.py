"""Atomic file writes: an interrupted write leaves the old file or none."""

from __future__ import annotations

import errno
import fcntl
import multiprocessing
import os
import signal
import stat
from pathlib import Path

import pytest

from service.runtime.atomic_files import PUBLIC, folder_lock, whole_file, write_whole

FORK = multiprocessing.get_context("fork")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.json"


def names(folder: Path) -> list[str]:
    return [item.name for item in folder.iterdir()]


def test_a_file_is_written_without_leftover_files(path: Path) -> None:
    write_whole(path, b"one")
    write_whole(path, b"two")
    assert path.read_bytes() == b"two"
    assert names(path.parent) == ["state.json"]


def _killed(path: Path) -> None:
    with whole_file(path) as file:
        file.write(b"new")
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)


def test_an_interrupted_write_leaves_the_old_file_intact(path: Path) -> None:
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
def test_a_full_disk_leaves_the_old_file_and_no_temporary_file(
    path: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_whole(path, b"old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if call == "fsync":
        monkeypatch.setattr("service.runtime.atomic_files.os.fsync", full)
    else:
        monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(path.parent) == ["state.json"]


def test_the_content_is_synced_before_the_rename_and_the_folder_after_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_whole(path, b"old")
    synced = []
    sync = os.fsync

    def recorded(handle: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(handle).st_mode), path.read_bytes()))
        sync(handle)

    monkeypatch.setattr("service.runtime.atomic_files.os.fsync", recorded)
    write_whole(path, b"new")
    assert synced == [(False, b"old"), (True, b"new")]


@pytest.mark.parametrize(
    ("umask", "mode", "expected"),
    [(0, None, 0o600), (0o077, None, 0o600), (0o022, PUBLIC, 0o644), (0o077, PUBLIC, 0o600)],
)
def test_a_file_is_private_unless_declared_public(
    path: Path, umask: int, mode: int | None, expected: int
) -> None:
    """The temporary file has these permissions from its creation: it may contain a key."""
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


def test_a_missing_folder_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "none" / "state.json", b"new")
    assert names(tmp_path) == []


def test_a_new_file_does_not_replace_an_existing_one(path: Path) -> None:
    """Even if the existing file appears during the write."""
    with pytest.raises(FileExistsError), whole_file(path, new=True) as file:
        file.write(b"second")
        write_whole(path, b"first", new=True)
    assert path.read_bytes() == b"first"
    assert names(path.parent) == ["state.json"]


def test_a_new_file_can_be_created_on_a_file_system_without_links(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For example on a memory stick for copies of keys."""

    def unsupported(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr("service.runtime.atomic_files.os.link", unsupported)
    write_whole(path, b"first", new=True)
    with pytest.raises(FileExistsError):
        write_whole(path, b"second", new=True)
    assert path.read_bytes() == b"first"
    assert names(path.parent) == ["state.json"]


def test_a_folder_is_locked_by_one_process(tmp_path: Path) -> None:
    handle = os.open(tmp_path, os.O_RDONLY)
    with folder_lock(tmp_path), pytest.raises(BlockingIOError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(handle)
