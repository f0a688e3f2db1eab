"""`shithead backup` as a command line: options that are refused before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.unit.cli.conftest import CommandOutput


def test_an_existing_key_file_is_reported_before_the_backup_and_not_overwritten(
    shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    """The same backup command may run every night."""
    keys, target = tmp_path / "keys.json", tmp_path / "one.backup"
    keys.write_text("those of yesterday")
    status, _, err = shithead("backup", target, "--data", tmp_path, "--keys", keys)
    assert status == 1
    assert f"{keys} already exists" in err
    assert not target.exists()
    assert keys.read_text() == "those of yesterday"
