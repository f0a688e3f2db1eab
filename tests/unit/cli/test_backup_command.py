"""`shithead backup` as a command line: words that make no sense before anything is done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.unit.cli.conftest import RecordedAnswer


def test_keys_are_not_written_over_and_that_is_said_before_the_backup(
    shithead: Callable[..., RecordedAnswer], tmp_path: Path
) -> None:
    """As in the second night of somebody who backs up with the same words every night."""
    keys, target = tmp_path / "keys.json", tmp_path / "one.backup"
    keys.write_text("those of yesterday")
    status, _, said = shithead("backup", target, "--data", tmp_path, "--keys", keys)
    assert status == 1
    assert f"{keys} already exists" in said
    assert not target.exists()
    assert keys.read_text() == "those of yesterday"
