"""Retention: temporary data is deleted after its period, and nothing else is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from service.application.retention import DEFAULT_RETENTION, Purging, Retention, retention_of
from service.runtime.config import settings_from
from service.store.events import OutboxRow
from tests.memory.directory import MemoryDirectory
from tests.memory.events import MemoryStore
from tests.streams import answer, append, commit, new_game, refused, register
from tests.worlds.fake_world import BEGIN, SetWorld

ENOUGH = {"SHITHEAD_DATABASE_URL": "postgresql://u@h/d", "SHITHEAD_KEY_FILE": "/keys.json"}
DAY = timedelta(days=1)
SHORT = Retention(answers=DAY, wake_ups=2 * DAY, refusals=3 * DAY, unused_players=100 * DAY)


class RetainedData:
    """Data of each kind, stored at BEGIN."""

    def __init__(self, kept: Retention) -> None:
        self.world = SetWorld()
        store = MemoryStore(clock=self.world.now)
        self.store, self.directory = store, MemoryDirectory(store)
        self.purging = Purging(
            store=store, directory=self.directory, world=self.world, retention=kept
        )
        game = new_game(store)
        self.directory.record_refusal(game, refused(at=BEGIN))
        rows = [OutboxRow(stream=game, version=2, topic=t) for t in ("game", "log", "statistics")]
        over = append(
            game, b"b", expected=1, after=store, summary={"status": "ended", "ended_at": BEGIN}
        )
        store.commit(commit(over, answer=answer(), outbox=tuple(rows)))
        register(self.directory)

    def deleted_after(self, days: float) -> set[str]:
        """Return the kinds of data that are deleted `days` days after BEGIN."""
        self.world.time = BEGIN + days * DAY
        purging = self.purging
        purges = {
            "answers": purging.answers,
            "wake-ups": purging.wake_ups,
            "seeks": purging.seeks,
            "refusals": purging.refusals,
            "players": purging.players,
        }
        return {kind for kind, purge in purges.items() if purge()}


def test_each_kind_of_data_is_deleted_after_its_period() -> None:
    kept = RetainedData(SHORT)
    assert kept.deleted_after(0.9) == set()
    assert kept.deleted_after(1.1) == {"answers"}
    assert kept.deleted_after(2.1) == {"wake-ups"}
    assert kept.deleted_after(3.1) == {"refusals"}
    assert kept.deleted_after(3.2) == set()


def test_unfinished_work_is_never_deleted() -> None:
    """Otherwise a game would never get its leaf in the public log, or never be counted."""
    kept = RetainedData(SHORT)
    assert kept.deleted_after(3000) >= {"wake-ups"}
    assert kept.store.waiting("game") == []
    assert [len(kept.store.waiting(topic)) for topic in ("log", "statistics")] == [1, 1]


def test_refusals_and_unused_players_are_not_deleted_by_default() -> None:
    kept = RetainedData(DEFAULT_RETENTION)
    assert kept.deleted_after(30_000) == {"answers", "wake-ups"}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, {"answers": DAY, "refusals": 365 * DAY, "unused_players": 365 * DAY, "wake_ups": DAY}),
        ({"SHITHEAD_KEEP_ANSWERS_HOURS": "48"}, {"answers": 2 * DAY}),
        ({"SHITHEAD_KEEP_WAKE_UPS_HOURS": "1"}, {"wake_ups": DAY / 24}),
        ({"SHITHEAD_KEEP_REFUSALS_DAYS": "0"}, {"refusals": None}),
        ({"SHITHEAD_KEEP_UNUSED_PLAYERS_DAYS": "0"}, {"unused_players": None}),
    ],
)
def test_retention_periods_are_settings(more: dict[str, str], expected: dict[str, Any]) -> None:
    found = retention_of(settings_from(ENOUGH | more))
    assert {name: getattr(found, name) for name in expected} == expected
