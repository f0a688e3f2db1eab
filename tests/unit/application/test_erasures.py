"""The list of erased players outside the database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from service.application.retention import ErasureFile, Erasures
from service.store.directory import Erasure

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


class ErasedPlayers:
    """A directory with erased players."""

    def __init__(self, *erasures: Erasure) -> None:
        self._erasures = erasures

    def erased_players(self, *, since: datetime | None) -> Sequence[Erasure]:
        """Return the players erased since a time."""
        return [one for one in self._erasures if since is None or one.at >= since]


def test_an_erasure_by_a_clock_that_was_ahead_hides_no_later_erasures(tmp_path: Path) -> None:
    ahead = Erasure(player=UUID(int=1), at=NOW + timedelta(days=1))
    corrected = Erasure(player=UUID(int=2), at=NOW)
    listed = ErasureFile(tmp_path / "erased-players.txt")
    listed.add([ahead])
    directory: Any = ErasedPlayers(ahead, corrected)
    assert Erasures(directory, listed.path, now=lambda: NOW).record() == 1
    assert listed.read().keys() == {ahead.player, corrected.player}
