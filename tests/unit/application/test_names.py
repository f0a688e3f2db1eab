"""The cache of player names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

import pytest

from service.application.games import cache as names_module
from service.application.games.cache import Names

ADA, BO, CY = (UUID(int=number) for number in (1, 2, 3))


class NamedPlayers:
    """A directory with the names of three players."""

    def names(self, players: Collection[UUID]) -> Mapping[UUID, str]:
        """Return the names of these players."""
        known = {ADA: "Ada", BO: "Bo", CY: "Cy"}
        return {player: known[player] for player in players}


def test_clearing_a_full_cache_hides_no_name_of_the_same_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(names_module, "MAX_NAMES", 1)
    directory: Any = NamedPlayers()
    names = Names(directory)
    assert names.of([ADA, BO]) == ["Ada", "Bo"]
    assert names.of([ADA, None, BO, CY]) == ["Ada", None, "Bo", "Cy"]
