"""A damaged or changed backup is refused with a message and never with a traceback."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from service.backup.backup import (
    Backup,
    BackupError,
    Manifest,
    new_backup,
    newest_checkpoint,
)
from service.shx.tlog.checkpoint import Checkpoint, sign_checkpoint
from tests.worlds.fake_log import ORIGIN, SIGNER

ROWS = b"".join(b"%d\tthe row of number %d\n" % (n, n * n) for n in range(200))


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """Return a backup of one table."""
    path = tmp_path / "whole.backup"
    with new_backup(path) as writer:
        tables = {"players": writer.add("players", ("id", "name"), [ROWS])}
        manifest = Manifest(
            made_at="2026-11-21T12:00:00.000000Z",
            engine="1",
            migrations={},
            tables=tables,
            games=0,
            running=0,
            leaves=0,
            root="",
            keys=(),
        )
        writer.finish(manifest)
    return path


def test_the_checkpoint_of_the_largest_tree_counts_and_two_trees_of_one_size_are_refused() -> None:
    def note(size: int, root: int = 0) -> bytes:
        tree = Checkpoint(origin=ORIGIN, size=size, root=bytes([root]) * 32)
        return sign_checkpoint(tree, [SIGNER])

    assert newest_checkpoint([]) is None
    assert newest_checkpoint([note(42), note(77), note(51), note(77)]) == note(77)
    with pytest.raises(BackupError, match="different trees of 77 leaves"):
        newest_checkpoint([note(77), note(51), note(77, root=1)])
    with pytest.raises(BackupError, match="cannot be read"):
        newest_checkpoint([b"nothing"])


def test_a_backup_is_read_back_as_written(whole: Path) -> None:
    with closing(Backup(whole)) as backup:
        backup.check()
        assert b"".join(backup.blocks("players")) == ROWS
        assert backup.manifest.tables["players"].rows == 200


@pytest.mark.heavy
@pytest.mark.parametrize("change", [0x01, 0x80, 0xFF])
def test_a_backup_with_a_changed_byte_is_refused_or_has_equal_content(
    whole: Path, change: int
) -> None:
    data, refused = whole.read_bytes(), 0
    for at in range(0, len(data), 3):
        whole.write_bytes(data[:at] + bytes([data[at] ^ change]) + data[at + 1 :])
        try:
            with closing(Backup(whole)) as backup:
                backup.check()
                assert b"".join(backup.blocks("players")) == ROWS
        except BackupError:
            refused += 1
    assert refused > len(data) / 6


def test_a_truncated_backup_is_refused(whole: Path) -> None:
    data = whole.read_bytes()
    for end in range(0, len(data), 7):
        whole.write_bytes(data[:end])
        with pytest.raises(BackupError):
            Backup(whole).check()
